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
  model::GpuRanges ranges(context_.arena.device());
  const auto enter = [&](comm::Phase phase) {
    ranges.enter(comm::phase_name(phase));
    if (progress_ != nullptr) progress_->report(step + 1, phase);
  };
  StepCost cost;
  Stopwatch watch;
  if (kept_buffers_) kept_buffers_->keep();
  for (std::uint64_t micro_batch = 0; micro_batch < settings_.micro_batches; ++micro_batch) {
    enter(comm::Phase::kData);
    const std::optional<TensorBatch> batch = context_.batches.next();
    if (!batch) throw InternalError("the batches ended before the plan did");
    watch.add_to(cost.data);
    enter(comm::Phase::kCompute);
    context_.exchange.begin_micro_batch(micro_batch, settings_.micro_batches, batch->size() > 0);
    // A function of the seed, the step and the micro-batch alone: a resumed run draws the same
    // dropout masks, and so do shards at any number of ranks.
    const std::uint64_t place = settings_.first_micro_batch + micro_batch;
    context_.network.seed_dropout(CounterRandom{kDrawStream, settings_.seed, step, place}.next());
    if (batch->size() > 0) forward_backward(*batch, watch, cost.forward);
    context_.exchange.end_micro_batch();
    finish_phase(StepSettings::Wait::kAfterEachPhase);
    watch.add_to(cost.backward);
  }
  enter(comm::Phase::kExchange);
  context_.exchange.finish();
  finish_phase(StepSettings::Wait::kAfterEachPhase);
  watch.add_to(cost.exchange);
  enter(comm::Phase::kUpdate);
  context_.backend.update(step, learning_rate, kept_buffers_ ? &*kept_buffers_ : nullptr);
  finish_phase(StepSettings::Wait::kAtEnd);
  watch.add_to(cost.update);
  return cost;
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
  const torch::Tensor loss = summed_cross_entropy(logits, batch.labels, settings_.label_smoothing);
  finish_phase(StepSettings::Wait::kAfterEachPhase);
  watch.add_to(forward_seconds);
  ranges.enter("backward");
  // The gradient of sum / n over the global batch; the exchange adds up, so the mean needs no
  // further scaling.
  loss.backward(
      context_.backend.loss_scale_gradient(settings_.sums_loss ? 1 : batch.request.global_count));
  context_.backend.count(batch, loss, logits);
}

// Waits for the device if settings_.wait is `least` or more.
void StepRunner::finish_phase(StepSettings::Wait least) const {
  if (settings_.wait >= least) on_host(context_.arena.flat_values().slice(0, 0, 1));
}

}  // namespace tandem::train
