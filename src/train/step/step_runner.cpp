#include "tandem/train/step_runner.hpp"

#include <chrono>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/model/gpu_ranges.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/objective.hpp"

namespace tandem::train {
namespace {

constexpr std::uint64_t kDrawStream = 0x64726177;  // apart from those of order and augmentation

}  // namespace

// Adds the time since its last call.
class StepRunner::Stopwatch {
 public:
  void add_to(double& sum) {
    const auto now = Clock::now();
    sum += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

// Tells the watchdog and NVIDIA's profilers in which phase of a step this rank is.
class StepRunner::Phases {
 public:
  Phases(const StepRunner& runner, std::uint64_t step)
      : ranges_(runner.context_.arena.device()), progress_(runner.progress_), step_(step) {}
  void enter(comm::Phase phase) {
    ranges_.enter(comm::phase_name(phase));
    if (progress_ != nullptr) progress_->report(step_ + 1, phase);
  }

 private:
  model::GpuRanges ranges_;
  comm::Progress* const progress_;
  const std::uint64_t step_;
};

StepSettings StepSettings::of(const TrainConfig& config, const data::TrainingPlan& plan, int rank,
                              int world) {
  StepSettings settings;
  settings.micro_batches = plan.micro_batches_of_rank(world);
  settings.first_micro_batch = static_cast<std::uint64_t>(rank) * settings.micro_batches;
  settings.seed = plan.seed;
  settings.precision = config.precision;
  settings.sums_loss = config.sums_loss;
  settings.label_smoothing = config.label_smoothing;
  return settings;
}

StepRunner::StepRunner(const StepContext& context, const StepSettings& settings,
                       comm::Progress* progress)
    : context_(context), settings_(settings), progress_(progress) {
  if (settings_.skip_nonfinite) kept_buffers_.emplace(context_.network);
}

StepCost StepRunner::run(std::uint64_t step, double learning_rate) {
  if (context_.class_weights != nullptr) global_weight_ = context_.class_weights->sum_of(step);
  const bool is_recorded = context_.recorded != nullptr && settings_.micro_batches == 1 &&
                           context_.class_weights == nullptr &&
                           settings_.wait == StepSettings::Wait::kNever;
  if (is_recorded) return run_recorded(step, learning_rate);
  Phases phases(*this, step);
  StepCost cost;
  Stopwatch watch;
  if (kept_buffers_) kept_buffers_->keep();
  for (std::uint64_t micro_batch = 0; micro_batch < settings_.micro_batches; ++micro_batch) {
    phases.enter(comm::Phase::kData);
    const std::optional<TensorBatch> batch = context_.batches.next();
    if (!batch) throw InternalError("the batches ended before the plan did");
    watch.add_to(cost.data);
    phases.enter(comm::Phase::kCompute);
    // A function of the seed, the step and the micro-batch alone: a resumed run draws the same
    // dropout masks, and so do shards at any number of ranks.
    const std::uint64_t place = settings_.first_micro_batch + micro_batch;
    context_.network.seed_dropout(CounterRandom{kDrawStream, settings_.seed, step, place}.next());
    run_micro_batch(*batch, micro_batch, cost, watch);
  }
  phases.enter(comm::Phase::kExchange);
  context_.exchange.finish();
  finish_phase(StepSettings::Wait::kAfterEachPhase);
  watch.add_to(cost.exchange);
  phases.enter(comm::Phase::kUpdate);
  context_.backend.update(step, learning_rate, kept_buffers_ ? &*kept_buffers_ : nullptr);
  finish_phase(StepSettings::Wait::kAtEnd);
  watch.add_to(cost.update);
  return cost;
}

// The same, with all that the device does in one piece.
StepCost StepRunner::run_recorded(std::uint64_t step, double learning_rate) {
  Phases phases(*this, step);
  StepCost cost;
  Stopwatch watch;
  phases.enter(comm::Phase::kData);
  request_ = context_.batches.load();
  if (!request_) throw InternalError("the batches ended before the plan did");
  context_.backend.prepare(step, learning_rate, *request_);
  watch.add_to(cost.data);
  phases.enter(comm::Phase::kCompute);
  StepShape shape{request_->images.size(), 0, request_->global_count};
  for (const ParameterArena::Slot& slot : context_.arena.slots()) {
    if (slot.parameter.requires_grad()) ++shape.trained_parameters;
  }
  context_.recorded->run(shape, [this] { do_on_device(); });
  watch.add_to(cost.backward);
  return cost;
}

// The recorded part of a step. It holds no number of the step and reads none back.
void StepRunner::do_on_device() {
  StepCost cost;
  Stopwatch watch;
  KeptBuffers* const buffers = kept_buffers_ ? &*kept_buffers_ : nullptr;
  if (buffers != nullptr) buffers->keep();
  run_micro_batch(context_.batches.made(*request_), 0, cost, watch);
  context_.exchange.finish();
  context_.backend.update(0, 0, buffers);  // prepare() has brought the step's numbers
}

void StepRunner::run_micro_batch(const TensorBatch& batch, std::uint64_t micro_batch,
                                 StepCost& cost, Stopwatch& watch) {
  context_.exchange.begin_micro_batch(micro_batch, settings_.micro_batches, batch.size() > 0);
  if (batch.size() > 0) {
    forward_backward(batch, watch, cost.forward);
  } else if (context_.norms != nullptr) {
    context_.norms->take_part_without_images();
  }
  context_.exchange.end_micro_batch();
  finish_phase(StepSettings::Wait::kAfterEachPhase);
  watch.add_to(cost.backward);
}

// The gradient of sum / n over the global batch, or sum / weights; the exchange adds up, so the
// mean needs no further scaling.
torch::Tensor StepRunner::scale_of(const data::BatchRequest& request) const {
  if (context_.class_weights == nullptr) {
    return context_.backend.grad_output(settings_.sums_loss ? 1 : request.global_count);
  }
  return context_.backend.grad_output(1) * (1 / global_weight_);
}

torch::Tensor StepRunner::loss_of(const TensorBatch& batch, const torch::Tensor& logits) const {
  if (batch.is_multi_label()) {
    return summed_binary_cross_entropy(logits, batch.targets, settings_.label_smoothing,
                                       context_.positive_weights);
  }
  if (batch.is_mixed()) {
    return summed_mixed_cross_entropy(
        logits, {batch.labels, batch.other_labels, batch.other_shares}, settings_.label_smoothing);
  }
  const bool is_weighted = context_.class_weights != nullptr;
  return summed_cross_entropy(logits, batch.labels, settings_.label_smoothing,
                              is_weighted ? context_.class_weights->by_class() : torch::Tensor());
}

void StepRunner::forward_backward(const TensorBatch& batch, Stopwatch& watch,
                                  double& forward_seconds) {
  model::GpuRanges ranges(batch.images.device());
  ranges.enter("forward");
  torch::Tensor logits;
  {
    const model::AutocastScope autocast(settings_.precision, batch.images.device().type());
    logits = context_.network.forward(batch.images);
  }
  const bool is_plain =
      context_.class_weights == nullptr && !batch.is_mixed() && !batch.is_multi_label();
  const torch::Tensor scale = scale_of(batch.request);
  const torch::Tensor gradient =
      is_plain ? context_.backend.differentiate(batch, logits, settings_.label_smoothing, scale)
               : torch::Tensor();
  torch::Tensor loss;
  if (!gradient.defined()) loss = loss_of(batch, logits);
  finish_phase(StepSettings::Wait::kAfterEachPhase);
  watch.add_to(forward_seconds);
  ranges.enter("backward");
  if (gradient.defined()) {
    logits.backward(gradient);
  } else {
    loss.backward(scale);
    context_.backend.count(batch, loss, logits);
  }
}

// Waits for the device if settings_.wait is `least` or more.
void StepRunner::finish_phase(StepSettings::Wait least) const {
  if (settings_.wait >= least) on_host(context_.arena.flat_values().slice(0, 0, 1));
}

}  // namespace tandem::train
