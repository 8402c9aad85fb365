// Steps before the first one of a run, whose results are thrown away. The first steps on a GPU load
// libraries and kernels, and cuDNN times its kernels for each shape: seconds that belong to the
// start of a run. Make the same calls on every rank, on the thread that trains. Throws what a step
// throws.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/core/touch.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/step_runner.hpp"

namespace tandem::train {

// The steps of `plan` whose batches have sizes of their own: its first one, and the first short
// one. Empty if no step is left.
std::vector<std::uint64_t> steps_of_each_size(const data::TrainingPlan& plan);

// Requests of the sizes that `step` of the plan has on a rank, `times` times over, for the first
// images of a split.
class WarmUpSampler final : public data::Sampler {
 public:
  WarmUpSampler(data::TrainingPlan plan, std::uint64_t step, int rank, int world,
                std::uint64_t times);
  std::optional<data::BatchRequest> next() override;
  // The most images of a request, at least 1.
  std::size_t image_count() const;

 private:
  std::vector<data::BatchRequest> of_step_;
  std::uint64_t left_;  // requests
};

// Collective. Makes `steps` steps and restores weights, optimizer, buffers and random numbers;
// gradients are zero. `context` has a backend and batches of its own, apart from the run's.
// `touch` is called after each step.
void warm_up(const StepContext& context, const StepSettings& settings, Optimizer& optimizer,
             std::uint64_t steps, const Touch& touch = {});

}  // namespace tandem::train
