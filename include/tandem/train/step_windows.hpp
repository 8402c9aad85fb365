// Times whole steps as a run makes them, with its loader, exchange and agreement, in several short
// windows: their spread shows how far a run may be from one of them. Collective. Throws what
// training steps throw.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tandem/comm/communicator.hpp"
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
};

// Takes about five seconds, but no more steps than `plan` has, and at least 16. The same result on
// every rank. The learning rate is 0, but buffers and optimizer state change as in training, so a
// run must reinitialize them. `step` counts from 0 in `plan`; `touch` is called after each step.
StepWindows time_windows(comm::Communicator& world, const StepContext& context,
                         const StepSettings& settings, const data::TrainingPlan& plan,
                         const std::function<void()>& touch);

}  // namespace tandem::train
