#include "tandem/train/step_windows.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "tandem/core/clock.hpp"

namespace tandem::train {
namespace {

constexpr std::uint64_t kTrialSteps = 3;  // decide how many steps a window has
constexpr std::uint64_t kWindowCount = 8;
constexpr double kWindowSeconds = 0.6;
constexpr std::uint64_t kMaxStepsOfWindow = 4000;
static_assert(kUntimedSteps + kTrialSteps + (kWindowCount + 1) * kMaxStepsOfWindow <=
              kMaxWindowedSteps);

class WindowTimer {
 public:
  WindowTimer(comm::Communicator& world, const StepContext& context, const data::TrainingPlan& plan,
              const Touch& touch)
      : world_(world), context_(context), plan_(plan), touch_(touch) {}

  // Makes and counts steps as Trainer::run() does. Returns rank 0's images/s.
  double run(StepRunner& runner, std::uint64_t steps) {
    StepBackend& backend = context_.backend;
    double seconds = 0;
    std::uint64_t images = 0;
    for (const std::uint64_t end = next_ + steps; next_ < end; ++next_) {
      const auto begin = std::chrono::steady_clock::now();
      const StepCost cost = runner.run(next_, 0);
      if (backend.drains_without_sync() || next_ + 1 == end) backend.drain();
      const double of_step = seconds_since(begin);
      world_.all_reduce_value<std::int64_t>(0, comm::Reduction::kMax);
      agreement_ += seconds_since(begin) - of_step;
      parts_ += cost;
      if (plan_.images_in_step(next_) == plan_.images_in_step(0)) add_compute(cost);
      seconds += of_step;
      images += plan_.images_in_step(next_);
      call(touch_);
    }
    timed_ += steps;
    double rate = static_cast<double>(images) / seconds;
    world_.broadcast(Span<double>(&rate, 1));
    return rate;
  }

  void forget_parts() {
    parts_ = {};
    compute_ = {};
    agreement_ = 0;
    timed_ = 0;
  }

  void read_parts(StepWindows& windows) {
    const auto mean = [&](double mine) {
      return world_.all_reduce_value(mine) / static_cast<double>(timed_) / world_.size();
    };
    windows.parts = {mean(parts_.data), mean(parts_.forward), mean(parts_.backward),
                     mean(parts_.exchange), mean(parts_.update)};
    windows.agreement = mean(agreement_);
  }

  void read_compute(StepWindows& windows) {
    for (double& sum : compute_) sum = world_.all_reduce_value(sum);
    const auto [count, sum, squares] = compute_;
    if (count == 0) return;
    windows.compute = sum / count;
    const double variance = squares / count - windows.compute * windows.compute;
    windows.compute_deviation = std::sqrt(std::max(0.0, variance));
  }

 private:
  void add_compute(const StepCost& cost) {
    const double seconds = cost.whole() - cost.exchange;
    compute_[0] += 1;
    compute_[1] += seconds;
    compute_[2] += seconds * seconds;
  }

  comm::Communicator& world_;
  const StepContext context_;
  const data::TrainingPlan& plan_;
  const Touch& touch_;
  StepCost parts_;
  std::array<double, 3> compute_{};  // number of whole batches, sum of their seconds, of squares
  double agreement_ = 0;
  std::uint64_t timed_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace

StepWindows time_windows(comm::Communicator& world, const StepContext& context,
                         const StepSettings& settings, const data::TrainingPlan& plan,
                         const Touch& touch) {
  WindowTimer timer(world, context, plan, touch);
  StepRunner as_in_training(context, settings);
  context.network.train();
  timer.run(as_in_training, kUntimedSteps);
  const double rate = timer.run(as_in_training, kTrialSteps);
  const double wanted = std::ceil(kWindowSeconds * rate / static_cast<double>(plan.global_batch));
  const std::uint64_t most =
      std::clamp(plan.steps / kWindowCount, std::uint64_t{1}, kMaxStepsOfWindow);
  const auto steps = static_cast<std::uint64_t>(std::clamp(wanted, 1.0, static_cast<double>(most)));
  timer.forget_parts();
  StepWindows windows;
  for (std::uint64_t i = 0; i < kWindowCount; ++i) {
    windows.images_per_second.push_back(timer.run(as_in_training, steps));
  }
  timer.read_compute(windows);
  if (!context.backend.drains_without_sync()) {  // a device still computed when its parts ended
    StepSettings separating = settings;
    separating.wait = StepSettings::Wait::kAfterEachPhase;
    StepRunner separated(context, separating);
    timer.forget_parts();
    timer.run(separated, steps);
  }
  timer.read_parts(windows);
  context.arena.zero_gradients();
  return windows;
}

}  // namespace tandem::train
