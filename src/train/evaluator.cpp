#include "tandem/train/evaluator.hpp"

#include <chrono>
#include <memory>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/objective.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::train {
namespace {

// What each rank counts, laid out for one reduction each.
struct Counts {
  std::vector<double> batch_loss;  // by batch: written by one rank, zero on the others
  std::vector<std::int64_t> class_images;
  std::vector<std::int64_t> class_correct;
  std::vector<std::uint64_t> accounting{0, 0};  // images, hash of their ids

  Counts(std::size_t batches, std::size_t classes)
      : batch_loss(batches), class_images(classes), class_correct(classes) {}

  // Both on the host.
  void add(const TensorBatch& batch, const torch::Tensor& logits) {
    batch_loss[batch.request.step] = summed_cross_entropy(logits, batch.labels, 0).item<double>();
    const std::vector<std::int64_t> predicted = predicted_classes(logits);
    const auto* labels = batch.labels.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto label = static_cast<std::size_t>(labels[i]);
      ++class_images[label];
      class_correct[label] += predicted[i] == labels[i];
    }
    accounting[0] += batch.size();
    accounting[1] += id_hash_of(batch.request);
  }

  void reduce(comm::Communicator& comm) {
    comm.reduce(Span<double>(batch_loss));
    comm.reduce(Span<std::int64_t>(class_images));
    comm.reduce(Span<std::int64_t>(class_correct));
    comm.reduce(Span<std::uint64_t>(accounting));
  }
};

void require_exactly_once(const Counts& counts, std::uint64_t expected) {
  if (counts.accounting[0] == expected && counts.accounting[1] == image_id_hash_of_all(expected)) {
    return;
  }
  throw InternalError("evaluation used " + std::to_string(counts.accounting[0]) +
                      " images, each of the " + std::to_string(expected) +
                      " exactly once was expected");
}

}  // namespace

Evaluation evaluate(comm::Communicator& comm, model::Network& network,
                    const data::ImagesView& images, const EvaluationSettings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  const torch::NoGradGuard no_grad;
  network.eval();
  broadcast_buffers(comm, network);

  const std::size_t image_count = images.labels.size();
  Counts counts(data::EvaluationSampler::batch_count(image_count), settings.classes);
  LoadedBatches batches(images, settings.transform, {},
                        std::make_unique<data::EvaluationSampler>(
                            static_cast<std::uint32_t>(image_count), comm.rank(), comm.size()));
  bool interrupted = false;
  while (const auto batch = batches.next()) {
    interrupted = settings.is_interrupted && settings.is_interrupted();
    if (interrupted) break;
    const model::AutocastScope autocast(settings.precision, settings.device.type());
    const torch::Tensor logits = network.forward(batch->images.to(settings.device));
    counts.add(*batch, on_host(logits));
  }
  Evaluation result;
  const auto interruptions = comm.all_reduce_value<std::int64_t>(interrupted ? 1 : 0);
  if (interruptions > 0) return result;
  counts.reduce(comm);

  result.completed = true;
  if (comm.rank() != 0) return result;
  require_exactly_once(counts, image_count);
  for (const double loss : counts.batch_loss) result.loss += loss;
  for (const std::int64_t correct : counts.class_correct) result.correct += correct;
  result.images = static_cast<std::int64_t>(image_count);
  result.loss /= static_cast<double>(image_count);
  result.accuracy = static_cast<double>(result.correct) / static_cast<double>(image_count);
  result.class_images = counts.class_images;
  result.class_correct = counts.class_correct;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace tandem::train
