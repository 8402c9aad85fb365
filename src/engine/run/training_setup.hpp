// The settings of the trainer and of its boundaries, from a run's options.
#pragma once

#include "run_inputs.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/train/boundary_policy.hpp"
#include "tandem/train/trainer.hpp"

namespace tandem::app {

train::BoundaryRules boundary_rules_of(const RunRequest& run,
                                       const train::BatchArithmetic& arithmetic,
                                       const data::TrainingPlan& plan, torch::Device device);

train::TrainerSettings trainer_settings_of(const train::TrainConfig& config,
                                           const RunInputs& inputs, const data::TrainingPlan& plan,
                                           const train::StepSettings& step);

}  // namespace tandem::app
