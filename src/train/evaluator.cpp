#include "tandem/train/evaluator.hpp"

#include <chrono>
#include <memory>
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
// Of a GPU: by how many batches the host may be ahead of it.
constexpr std::size_t kMaxUnreadBatches = 32;

// What the network answered to the images of a batch.
struct Answers {
  data::BatchRequest request;
  double loss = 0;           // sum
  std::int64_t in_top5 = 0;  // labels
  std::vector<std::int64_t> predicted;
  std::vector<double> image_losses;    // empty unless the worst are wanted
  std::vector<std::int64_t> of_views;  // predicted with test-time augmentation; or empty
};

// Of Counts::correct.
enum CorrectBy : std::size_t { kBySeveralViews, kInTop5, kCorrectKinds };

// The counts of each rank, arranged for one reduction each.
struct Counts {
  std::vector<double> batch_loss;  // by batch: written by one rank, zero on the others
  std::size_t classes;
  // By label * classes + prediction, or empty; then by label: images, and right answers.
  std::vector<std::int64_t> confusion;
  std::vector<std::int64_t> class_images, class_correct;
  std::vector<std::uint64_t> accounting{0, 0};  // images, hash of their ids
  std::vector<std::int64_t> correct = std::vector<std::int64_t>(kCorrectKinds);
  TopLosses worst;

  Counts(std::size_t batches, const EvaluationSettings& settings)
      : batch_loss(batches),
        classes(settings.classes),
        confusion(classes <= kMaxConfusionClasses ? classes * classes : 0),
        class_images(classes),
        class_correct(classes),
        worst(settings.worst) {}

  // Answers of the host.
  void add(const Answers& answers, const data::ImagesView& images) {
    const data::BatchRequest& request = answers.request;
    batch_loss[request.step] = answers.loss;
    for (std::size_t i = 0; i < request.images.size(); ++i) {
      const std::uint32_t image = request.images[i];
      const std::size_t label = images.labels[image];
      const auto predicted = static_cast<std::size_t>(answers.predicted[i]);
      if (!confusion.empty()) ++confusion[label * classes + predicted];
      ++class_images[label];
      if (predicted == label) ++class_correct[label];
      if (worst.is_wanted()) worst.add({image, answers.predicted[i], answers.image_losses[i]});
      if (!answers.of_views.empty()) {
        correct[kBySeveralViews] += answers.of_views[i] == static_cast<std::int64_t>(label);
      }
    }
    correct[kInTop5] += answers.in_top5;
    accounting[0] += request.images.size();
    accounting[1] += id_hash_of(request);
  }

  void reduce(comm::Communicator& comm) {
    comm.reduce(Span<double>(batch_loss));
    if (!confusion.empty()) comm.reduce(Span<std::int64_t>(confusion));
    comm.reduce(Span<std::int64_t>(class_images));
    comm.reduce(Span<std::int64_t>(class_correct));
    comm.reduce(Span<std::uint64_t>(accounting));
    comm.reduce(Span<std::int64_t>(correct));
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

// The answers to a batch as they lie on the device.
struct DeviceAnswers {
  data::BatchRequest request;
  std::vector<torch::Tensor> values;  // flat: loss, in_top5, predicted, image_losses, of_views
};

torch::Tensor predicted_on_device(const torch::Tensor& logits) {
  // On the host as ever: argmax differs where a logit is NaN.
  return logits.is_cpu() ? torch::tensor(predicted_classes(logits)) : logits.argmax(1);
}

DeviceAnswers answer(model::Network& network, const TensorBatch& batch,
                     const EvaluationSettings& settings) {
  const model::AutocastScope autocast(settings.precision, settings.device.type());
  const torch::Tensor pixels = batch.images.to(settings.device);
  const torch::Tensor labels = batch.labels.to(settings.device);
  const torch::Tensor logits = network.forward(pixels);
  DeviceAnswers answers{batch.request, {}};
  answers.values = {summed_cross_entropy(logits, labels, 0).reshape({1}),
                    count_in_top(logits, labels).reshape({1}), predicted_on_device(logits)};
  if (settings.worst > 0) answers.values.push_back(image_cross_entropy(logits, labels));
  if (settings.views) {
    answers.values.push_back(predicted_on_device(logits_of_views(network, pixels, logits)));
  }
  return answers;
}

// Everything in one copy. Numbers of classes and floats are exact as double.
std::vector<Answers> read_back(const std::vector<DeviceAnswers>& batches,
                               const EvaluationSettings& settings) {
  std::vector<torch::Tensor> values;
  for (const DeviceAnswers& batch : batches) {
    for (const torch::Tensor& each : batch.values) values.push_back(each.to(torch::kFloat64));
  }
  if (values.empty()) return {};
  const torch::Tensor all = on_host(torch::cat(values));
  const double* next = all.data_ptr<double>();
  std::vector<Answers> answers;
  for (const DeviceAnswers& batch : batches) {
    const std::size_t count = batch.request.images.size();
    const auto take = [&] {
      const double* first = std::exchange(next, next + count);
      return std::vector<double>(first, next);
    };
    const auto take_classes = [&] {
      const std::vector<double> classes = take();
      return std::vector<std::int64_t>(classes.begin(), classes.end());
    };
    Answers& of_batch = answers.emplace_back();
    of_batch.request = batch.request;
    of_batch.loss = *next++;
    of_batch.in_top5 = static_cast<std::int64_t>(*next++);
    of_batch.predicted = take_classes();
    if (settings.worst > 0) of_batch.image_losses = take();
    if (settings.views) of_batch.of_views = take_classes();
  }
  return answers;
}

bool normalizes_on_device(const EvaluationSettings& settings) {
  return !settings.moments.mean.empty();
}

std::unique_ptr<BatchSource> batches_of(const data::ImagesView& images,
                                        const EvaluationSettings& settings,
                                        std::unique_ptr<data::Sampler> sampler) {
  if (!normalizes_on_device(settings)) {
    return std::make_unique<LoadedBatches>(images, settings.transform, data::AugmentKey(),
                                           std::move(sampler));
  }
  const data::Layout layout = settings.transform.layout();
  const std::shared_ptr<const ResidentImages> resident =
      settings.resident ? settings.resident : resident_images_of(images, settings);
  if (!resident) {
    return std::make_unique<StreamedBatches>(images, layout, settings.moments, data::AugmentKey(),
                                             std::move(sampler), settings.device);
  }
  return std::make_unique<ResidentBatches>(resident, layout, settings.moments, data::AugmentKey(),
                                           std::move(sampler));
}

// On rank 0.
Evaluation result_of(Counts& counts, const EvaluationSettings& settings, std::size_t image_count) {
  Evaluation result;
  for (const double loss : counts.batch_loss) result.loss += loss;
  result.class_images = std::move(counts.class_images);
  result.class_correct = std::move(counts.class_correct);
  for (const std::int64_t correct : result.class_correct) result.correct += correct;
  result.confusion = std::move(counts.confusion);
  result.images = static_cast<std::int64_t>(image_count);
  result.loss /= static_cast<double>(image_count);
  result.accuracy = static_cast<double>(result.correct) / static_cast<double>(image_count);
  if (settings.views) {
    result.views_accuracy =
        static_cast<double>(counts.correct[kBySeveralViews]) / static_cast<double>(image_count);
  }
  if (counts.classes >= kClassesForTop) {
    result.top5_accuracy =
        static_cast<double>(counts.correct[kInTop5]) / static_cast<double>(image_count);
  }
  return result;
}

}  // namespace

std::shared_ptr<const ResidentImages> resident_images_of(const data::ImagesView& images,
                                                         const EvaluationSettings& settings) {
  if (!normalizes_on_device(settings)) return nullptr;
  if (ResidentImages::bytes_of(images) > settings.resident_bytes) return nullptr;
  return std::make_shared<const ResidentImages>(images, settings.device);
}

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
  const auto batches = batches_of(
      images, settings,
      std::make_unique<data::EvaluationSampler>(static_cast<std::uint32_t>(image_count),
                                                comm.rank(), comm.size(), settings.batch_size));
  // A CPU has answered when answer() returns.
  const std::size_t most_unread = normalizes_on_device(settings) ? kMaxUnreadBatches : 1;
  std::vector<DeviceAnswers> unread;
  const auto read_all = [&] {
    for (const Answers& each : read_back(unread, settings)) counts.add(each, images);
    unread.clear();
  };
  // Every rank takes part in each round, even without a batch left for the last one.
  const auto world = static_cast<std::uint64_t>(comm.size());
  double batch_seconds = 0;
  auto unread_since = Clock::now();
  for (std::uint64_t done = 0; done < batch_count; done += world) {
    if (settings.on_progress) settings.on_progress(done * settings.batch_size, image_count);
    if (is_given_up(comm, settings, batch_seconds)) return {};
    if (unread.empty()) unread_since = Clock::now();
    const auto batch = batches->next();
    if (!batch) continue;
    unread.push_back(answer(network, *batch, settings));
    if (unread.size() < most_unread) continue;
    const auto count = static_cast<double>(unread.size());
    read_all();
    batch_seconds = seconds_since(unread_since) / count;
  }
  read_all();
  counts.reduce(comm);
  std::vector<ImageLoss> worst = counts.worst.gather(comm);
  Evaluation result;
  if (comm.rank() == 0) {
    require_exactly_once(counts, image_count);
    result = result_of(counts, settings, image_count);
    result.seconds = seconds_since(begin);
  }
  result.worst = std::move(worst);
  result.completed = true;
  return result;
}

Evaluator::Evaluator(comm::Communicator& comm, model::Network& network,
                     const data::ImagesView& test, const data::ImagesView& held_out,
                     EvaluationSettings settings, Optimizer* optimizer)
    : comm_(comm),
      network_(network),
      test_(test),
      held_out_(held_out),
      settings_(std::move(settings)),
      optimizer_(optimizer) {}

Evaluation Evaluator::evaluate_split(const data::ImagesView& images, bool views,
                                     std::shared_ptr<const ResidentImages>& resident) {
  if (!resident) resident = resident_images_of(images, settings_);
  EvaluationSettings settings = settings_;
  settings.resident = resident;
  settings.views = settings.views && views;
  if (optimizer_ != nullptr) optimizer_->exchange_average();
  Evaluation evaluation = evaluate(comm_, network_, images, settings);
  if (optimizer_ != nullptr) optimizer_->exchange_average();
  return evaluation;
}

Evaluation Evaluator::of_test_images(bool last) {
  return evaluate_split(test_, last, resident_test_);
}

Evaluation Evaluator::of_held_out() { return evaluate_split(held_out_, false, resident_held_out_); }

}  // namespace tandem::train
