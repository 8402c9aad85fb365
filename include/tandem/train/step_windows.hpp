// Times whole training steps, with loader, exchange and agreement, in several short windows. Their
// spread shows the variation of a run. Collective. Throws the errors of training steps.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/train/step_runner.hpp"

namespace tandem::train {

// The most steps that time_windows() takes from the batches.
constexpr std::uint64_t kMaxWindowedSteps = 36100;

struct StepWindows {
  // One for each window, on rank 0's clock and without the agreement, as summary.json counts.
  std::vector<double> images_per_second;
  StepCost parts;        // means over timed steps and ranks; the exchange includes waiting
  double agreement = 0;  // the same mean: seconds in which ranks agree whether to go on
  // Seconds of a whole batch without the exchange: mean and standard deviation over steps and
  // ranks.
  double compute = 0;
  double compute_deviation = 0;
};

// Takes about five seconds: at least 16 steps, and otherwise at most those of `plan`. The same
// result on every rank. The learning rate is 0, but buffers and optimizer state change as in
// training, so a run must reinitialize them. `touch` is called after each step.
StepWindows time_windows(comm::Communicator& world, const StepContext& context,
                         const StepSettings& settings, const data::TrainingPlan& plan,
                         const Touch& touch);

}  // namespace tandem::train
