// The settings of the trainer and of its boundaries, from a run's options.
#pragma once

#include "cli/train_options.hpp"
#include "run_inputs.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/train/boundary_policy.hpp"
#include "tandem/train/trainer.hpp"

namespace tandem::app {

// Without its start.
train::BoundaryRules boundary_rules_of(const train::CheckpointPolicy& checkpoint_policy,
                                       const train::BatchArithmetic& arithmetic,
                                       const data::TrainingPlan& plan, torch::Device device);

train::TrainerSettings trainer_settings_of(const TrainRequest& request, const RunInputs& inputs,
                                           const data::TrainingPlan& plan,
                                           const train::StepSettings& step);

}  // namespace tandem::app
