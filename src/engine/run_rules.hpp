// Trainer settings and boundary rules from a run's options.
#pragma once

#include <chrono>
#include <cstdint>

#include "cli/train_options.hpp"
#include "tandem/train/boundary_policy.hpp"
#include "tandem/train/trainer.hpp"

namespace tandem::app {

// `began`: the start of the command, from which --max-time counts.
train::BoundaryRules boundary_rules_of(const train::CheckpointPolicy& checkpoint_policy,
                                       const train::BatchArithmetic& arithmetic,
                                       std::uint64_t first_step,
                                       std::chrono::steady_clock::time_point began);

train::TrainerSettings trainer_settings_of(const TrainRequest& request,
                                           const train::BatchArithmetic& arithmetic,
                                           const data::TrainingPlan& plan,
                                           const train::StepSettings& step);

}  // namespace tandem::app
