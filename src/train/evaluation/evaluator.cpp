#include "tandem/train/evaluator.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "evaluation_counts.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/objective.hpp"
#include "tandem/train/replicate.hpp"
#include "test_time_augmentation.hpp"

namespace tandem::train {
namespace {

using Clock = std::chrono::steady_clock;
// Of a GPU: by how many batches the host may be ahead of it.
constexpr std::size_t kMaxUnreadBatches = 32;

// Collective if evaluations can be interrupted, because a signal or the clock is known to one rank
// alone.
bool is_given_up(comm::Communicator& comm, const EvaluationSettings& settings,
                 double batch_seconds) {
  if (!settings.is_interrupted) return false;
  return !comm::is_true_everywhere(comm, !settings.is_interrupted(batch_seconds));
}

// The answers to a batch as they lie on the device.
struct DeviceAnswers {
  data::BatchRequest request;
  // Flat: loss, in_top5, predicted, image_losses, of_views; of a multi-label set loss and logits.
  std::vector<torch::Tensor> values;
  bool multi_label = false;
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
  DeviceAnswers answers{batch.request, {}, batch.is_multi_label()};
  if (batch.is_multi_label()) {
    const torch::Tensor targets = batch.targets.to(settings.device);
    answers.values = {summed_binary_cross_entropy(logits, targets, 0).reshape({1}),
                      logits.to(torch::kFloat32).flatten()};
    return answers;
  }
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
    const auto take = [&](std::size_t of_each = 1) {
      const double* first = std::exchange(next, next + count * of_each);
      return std::vector<double>(first, next);
    };
    const auto take_classes = [&] {
      const std::vector<double> classes = take();
      return std::vector<std::int64_t>(classes.begin(), classes.end());
    };
    Answers& of_batch = answers.emplace_back();
    of_batch.request = batch.request;
    of_batch.loss = *next++;
    if (batch.multi_label) {
      of_batch.logits = take(settings.classes);
      continue;
    }
    of_batch.in_top5 = static_cast<std::int64_t>(*next++);
    of_batch.predicted = take_classes();
    if (settings.worst > 0) of_batch.image_losses = take();
    if (settings.views) of_batch.of_views = take_classes();
  }
  return answers;
}

bool normalizes_on_device(const data::ImagesView& images, const EvaluationSettings& settings) {
  return !settings.moments.mean.empty() && !images.is_multi_label();
}

std::unique_ptr<BatchSource> batches_of(const data::ImagesView& images,
                                        const EvaluationSettings& settings,
                                        std::unique_ptr<data::Sampler> sampler) {
  if (!normalizes_on_device(images, settings)) {
    return std::make_unique<LoadedBatches>(images, settings.transform, data::AugmentKey(),
                                           std::move(sampler), settings.loader_threads);
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

}  // namespace

std::shared_ptr<const ResidentImages> resident_images_of(const data::ImagesView& images,
                                                         const EvaluationSettings& settings) {
  if (!normalizes_on_device(images, settings)) return nullptr;
  if (ResidentImages::bytes_of(images) > settings.resident_bytes) return nullptr;
  const Touch touch = [&settings] {
    if (settings.is_interrupted) settings.is_interrupted(0);
  };
  return std::make_shared<const ResidentImages>(images, settings.device, data::Decoding::kExact,
                                                touch);
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
  Counts counts(batch_count, settings, images.is_multi_label());
  const auto batches = batches_of(
      images, settings,
      std::make_unique<data::EvaluationSampler>(static_cast<std::uint32_t>(image_count),
                                                comm.rank(), comm.size(), settings.batch_size));
  // A CPU has answered when answer() returns.
  const std::size_t most_unread = normalizes_on_device(images, settings) ? kMaxUnreadBatches : 1;
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
  std::vector<double> precision;
  if (images.is_multi_label()) precision = counts.scores.average_precisions(comm, images);
  Evaluation result;
  if (comm.rank() == 0) {
    counts.require_exactly_once(image_count);
    result = counts.result(settings, image_count);
    if (images.is_multi_label()) {
      result.mean_average_precision = mean_average_precision(precision);
      result.class_precision = std::move(precision);
    }
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
  if (optimizer_ != nullptr) optimizer_->swap_average();
  Evaluation evaluation = evaluate(comm_, network_, images, settings);
  if (optimizer_ != nullptr) optimizer_->swap_average();
  return evaluation;
}

Evaluation Evaluator::of_test_images(bool last) {
  return evaluate_split(test_, last, resident_test_);
}

Evaluation Evaluator::of_held_out() { return evaluate_split(held_out_, false, resident_held_out_); }

}  // namespace tandem::train
