#include "training_setup.hpp"

#include "engine/optimizer_choice.hpp"
#include "tandem/core/stop_signal.hpp"

namespace tandem::app {
namespace {

// The host of a GPU runs ahead of it, and an agreement in every step would make the hosts wait for
// each other. A stop request waits so long, or for 32 steps at most.
constexpr double kGpuAgreementSeconds = 0.05;

}  // namespace

train::BoundaryRules boundary_rules_of(const RunRequest& run,
                                       const train::BatchArithmetic& arithmetic,
                                       const data::TrainingPlan& plan, torch::Device device) {
  train::BoundaryRules rules;
  rules.every = run.train.checkpoint_policy.checkpoint_every;
  rules.stop_after_seconds = run.train.checkpoint_policy.stop_after_seconds;
  rules.start = run.began;
  rules.first_step = plan.first_step;
  rules.total_steps = arithmetic.total_steps;
  rules.steps_per_epoch = arithmetic.steps_per_epoch;
  rules.is_stop_asked = [] { return StopSignal::received() != 0; };
  rules.agreement_seconds = device.is_cpu() ? 0 : kGpuAgreementSeconds;
  return rules;
}

train::TrainerSettings trainer_settings_of(const train::TrainConfig& config,
                                           const RunInputs& inputs, const data::TrainingPlan& plan,
                                           const train::StepSettings& step) {
  train::TrainerSettings settings;
  settings.plan = plan;
  settings.step = step;
  settings.early_steps = early_steps_of(config, inputs.arithmetic);
  settings.eval_every = config.eval_every;
  settings.log_every = config.log_every;
  settings.early_stop = config.early_stop;
  settings.multi_label = inputs.images.info().multi_label;
  return settings;
}

}  // namespace tandem::app
