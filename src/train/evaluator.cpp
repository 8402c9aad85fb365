#include "tandem/train/evaluator.hpp"

#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "tandem/core/clock.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/objective.hpp"
#include "tandem/train/replicate.hpp"
#include "tandem/train/test_time_augmentation.hpp"

namespace tandem::train {
namespace {

using Clock = std::chrono::steady_clock;

// The counts of each rank, arranged for one reduction each.
struct Counts {
  std::vector<double> batch_loss;  // by batch: written by one rank, zero on the others
  std::size_t classes;
  std::vector<std::int64_t> confusion;          // by label * classes + prediction
  std::vector<std::uint64_t> accounting{0, 0};  // images, hash of their ids
  std::int64_t correct_of_views = 0;
  TopLosses worst;

  Counts(std::size_t batches, const EvaluationSettings& settings)
      : batch_loss(batches),
        classes(settings.classes),
        confusion(classes * classes),
        worst(settings.worst) {}

  // Both on the host.
  void add(const TensorBatch& batch, const torch::Tensor& logits) {
    batch_loss[batch.request.step] = summed_cross_entropy(logits, batch.labels, 0).item<double>();
    const std::vector<std::int64_t> predicted = predicted_classes(logits);
    const auto* labels = batch.labels.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto label = static_cast<std::size_t>(labels[i]);
      ++confusion[label * classes + static_cast<std::size_t>(predicted[i])];
    }
    if (worst.is_wanted()) add_worst(batch, logits, predicted);
    accounting[0] += batch.size();
    accounting[1] += id_hash_of(batch.request);
  }

  void add_views(const TensorBatch& batch, const torch::Tensor& logits) {
    const std::vector<std::int64_t> predicted = predicted_classes(logits);
    const auto* labels = batch.labels.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < batch.size(); ++i) correct_of_views += predicted[i] == labels[i];
  }

  void add_worst(const TensorBatch& batch, const torch::Tensor& logits,
                 const std::vector<std::int64_t>& predicted) {
    const torch::Tensor losses = image_cross_entropy(logits, batch.labels).contiguous();
    const float* loss = losses.data_ptr<float>();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      worst.add({batch.request.images[i], predicted[i], static_cast<double>(loss[i])});
    }
  }

  void reduce(comm::Communicator& comm) {
    comm.reduce(Span<double>(batch_loss));
    comm.reduce(Span<std::int64_t>(confusion));
    comm.reduce(Span<std::uint64_t>(accounting));
    comm.reduce(Span<std::int64_t>(&correct_of_views, 1));
  }
};

// Collective if evaluations can be interrupted, because a signal or the clock is known to one rank
// alone.
bool is_given_up(comm::Communicator& comm, const EvaluationSettings& settings,
                 double batch_seconds) {
  if (!settings.is_interrupted) return false;
  const std::int64_t mine = settings.is_interrupted(batch_seconds) ? 1 : 0;
  return comm.all_reduce_value<std::int64_t>(mine, comm::Reduction::kMax) > 0;
}

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
  const auto begin = Clock::now();
  const torch::NoGradGuard no_grad;
  network.eval();
  broadcast_buffers(comm, network);

  const std::size_t image_count = images.labels.size();
  const std::uint64_t batch_count =
      data::EvaluationSampler::batch_count(image_count, settings.batch_size);
  Counts counts(batch_count, settings);
  LoadedBatches batches(
      images, settings.transform, {},
      std::make_unique<data::EvaluationSampler>(static_cast<std::uint32_t>(image_count),
                                                comm.rank(), comm.size(), settings.batch_size));
  // Every rank takes part in each round, even without a batch left for the last one.
  const auto world = static_cast<std::uint64_t>(comm.size());
  double batch_seconds = 0;
  for (std::uint64_t done = 0; done < batch_count; done += world) {
    if (settings.on_progress) settings.on_progress(done * settings.batch_size, image_count);
    if (is_given_up(comm, settings, batch_seconds)) return {};
    const auto batch_begin = Clock::now();
    const auto batch = batches.next();
    if (!batch) continue;
    const model::AutocastScope autocast(settings.precision, settings.device.type());
    const torch::Tensor pixels = batch->images.to(settings.device);
    const torch::Tensor logits = network.forward(pixels);
    counts.add(*batch, on_host(logits));
    if (settings.views) {
      counts.add_views(*batch, on_host(logits_of_views(network, pixels, logits)));
    }
    batch_seconds = seconds_since(batch_begin);
  }
  counts.reduce(comm);
  Evaluation result;
  result.worst = counts.worst.gather(comm);

  result.completed = true;
  if (comm.rank() != 0) return result;
  require_exactly_once(counts, image_count);
  for (const double loss : counts.batch_loss) result.loss += loss;
  for (std::size_t label = 0; label < counts.classes; ++label) {
    const auto row = counts.confusion.begin() + static_cast<std::ptrdiff_t>(label * counts.classes);
    result.class_images.push_back(
        std::accumulate(row, row + static_cast<std::ptrdiff_t>(counts.classes), std::int64_t{0}));
    result.class_correct.push_back(*(row + static_cast<std::ptrdiff_t>(label)));
    result.correct += result.class_correct.back();
  }
  result.confusion = std::move(counts.confusion);
  result.images = static_cast<std::int64_t>(image_count);
  result.loss /= static_cast<double>(image_count);
  result.accuracy = static_cast<double>(result.correct) / static_cast<double>(image_count);
  if (settings.views) {
    result.views_accuracy =
        static_cast<double>(counts.correct_of_views) / static_cast<double>(image_count);
  }
  result.seconds = seconds_since(begin);
  return result;
}

Evaluator::Evaluator(comm::Communicator& comm, model::Network& network,
                     const data::ImagesView& test, const data::ImagesView& held_out,
                     EvaluationSettings settings)
    : comm_(comm),
      network_(network),
      test_(test),
      held_out_(held_out),
      settings_(std::move(settings)) {}

Evaluation Evaluator::of_test_images(bool last) {
  EvaluationSettings settings = settings_;
  settings.views = settings.views && last;
  return evaluate(comm_, network_, test_, settings);
}

Evaluation Evaluator::of_held_out() {
  EvaluationSettings settings = settings_;
  settings.views = false;
  return evaluate(comm_, network_, held_out_, settings);
}

}  // namespace tandem::train
