#include "tandem/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "epoch_accounting.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/model/tensor_memory.hpp"
#include "train/step/step_errors.hpp"

namespace tandem::train {
namespace {

using Clock = std::chrono::steady_clock;
// Bounds the delay until a gradient that is not finite is noticed, also without logging.
constexpr std::uint64_t kMaxStepsAhead = 100;

}  // namespace

Trainer::Trainer(TrainerContext context, TrainerSettings settings, TrainingState state)
    : context_(std::move(context)),
      settings_(std::move(settings)),
      step_(context_.step, settings_.step, context_.progress),
      state_(std::move(state)) {}

TrainResult Trainer::run() {
  const data::TrainingPlan& plan = settings_.plan;
  const bool evaluated = state_.evaluation_due && run_evaluation(state_.step - 1);
  context_.step.network.train();
  if (stops_here(evaluated)) return result_;
  const std::uint64_t first = state_.step;
  while (state_.step < plan.steps && !ends_early()) {
    const std::uint64_t step = state_.step;
    const bool last = step + 1 == plan.steps;
    const bool early_ends = settings_.early_steps > 0 && step >= settings_.early_steps;
    if (early_ends && step == std::max(first, settings_.early_steps)) freeze_early_parameters();
    const bool log_due = settings_.log_every > 0 && (last || (step + 1) % settings_.log_every == 0);
    const bool epoch_ends = (step + 1) % plan.steps_per_epoch() == 0;
    const auto begin = Clock::now();
    StepCost phases;
    within_step(step, [&] { phases = step_.run(step, context_.schedule.at(step)); });
    has_undrained_ = true;
    // Of an earlier end of the run, which now goes on.
    if (context_.evaluator.holds_out()) result_.last_evaluation.reset();
    // On a GPU this waits for it, so it belongs to the time of the steps.
    const bool far_ahead = (step + 1) % kMaxStepsAhead == 0;
    const bool drains = context_.step.backend.drains_without_sync();
    if (drains || log_due || epoch_ends || last || far_ahead) drain();
    ++state_.step;
    count_time(step, phases, seconds_since(begin));

    if (log_due) log_step(step, last_);
    const std::uint64_t epochs_done = (step + 1) / plan.steps_per_epoch();
    state_.evaluation_due = settings_.eval_every > 0 &&
                            (last || (epoch_ends && epochs_done % settings_.eval_every == 0));
    if (epoch_ends || last) finish_epoch(step, epoch_ends);
    // The first steps make more than the others do, and a short batch has shapes of its own.
    const bool shapes_change = plan.images_in_step(step) != plan.images_in_step(step + 1);
    if (step == first + kUntimedSteps || shapes_change) model::release_unused_memory();
    // Saves before the evaluation, so that a run that dies in it resumes from this step.
    if (stops_here(false)) break;
    if (state_.evaluation_due && stops_here(run_evaluation(step))) break;
  }
  result_.ended_early = ends_early() && !result_.stopped && state_.step < plan.steps;
  return result_;
}

// Their learning rate is 0 from now on, and computing their gradients would be wasted work.
void Trainer::freeze_early_parameters() {
  auto parameters = context_.step.network.named_parameters();
  for (const std::string& name : context_.step.network.early_parameters()) {
    parameters[name].set_requires_grad(false);
  }
}

// True if the run stops here before it is complete.
bool Trainer::stops_here(bool evaluated) {
  if (context_.checkpoints == nullptr) return false;
  const Boundary decision = context_.checkpoints->decide(state_.step, evaluated);
  const bool is_at_end = state_.step >= settings_.plan.steps || ends_early();
  const bool complete = is_at_end && !state_.evaluation_due;
  result_.stopped = decision == Boundary::kSaveAndStop && !complete;
  if (decision != Boundary::kGoOn) {
    enter(comm::Phase::kCheckpoint);
    const auto begin = Clock::now();
    drain();
    const double waited = seconds_since(begin);  // for steps that a GPU had still to do
    result_.train_seconds += waited;
    state_.epoch_seconds += waited;
    log_seconds_ += waited;
    // Otherwise no record would hold the steps since the last one.
    const bool has_unlogged = settings_.log_every > 0 && log_images_ > 0;
    if (result_.stopped && has_unlogged) log_step(state_.step - 1, last_);
    const TrainingState state = gather_state();
    if (state.epoch_totals.images > 0) result_.train_loss = state.epoch_totals.mean_loss();
    context_.checkpoints->save(state);
  }
  return result_.stopped;
}

TrainingState Trainer::gather_state() {
  TrainingState state = state_;
  state.loss_scale = context_.step.backend.loss_scale();
  state.epoch_totals = reduced(context_.comm, state_.epoch_totals);
  return state;
}

// A phase between two steps counts as part of the first one.
void Trainer::enter(comm::Phase phase) {
  if (context_.progress != nullptr) context_.progress->report(state_.step, phase);
}

// Adds the results of the steps since the last call.
void Trainer::drain() {
  if (!std::exchange(has_undrained_, false)) return;
  const StepOutcome outcome = context_.step.backend.drain();
  if (outcome.skipped > 0) note_skipped(outcome);
  log_times_.add(outcome.sums);
  epoch_times_.add(outcome.sums);
  state_.epoch_totals.add(outcome.sums);
  last_ = outcome.last;
  gradient_norm_ = outcome.gradient_norm;
}

// False if it was interrupted.
bool Trainer::run_evaluation(std::uint64_t step) {
  enter(comm::Phase::kEvaluation);
  model::release_unused_memory();                      // evaluation has other shapes
  const bool last = step + 1 >= settings_.plan.steps;  // a resumed run may be past its end
  bool completed = true;
  Evaluator& evaluator = context_.evaluator;
  Checkpoints* const checkpoints = context_.checkpoints;
  const bool holds_out = evaluator.holds_out();
  if (holds_out) {
    const Evaluation evaluation = evaluator.of_held_out();
    completed = evaluation.completed;
    if (checkpoints != nullptr) checkpoints->offer_as_best(evaluation);
    if (completed) count_accuracy(step, evaluation, result_.last_validation);
    note_evaluation(step, "validation", evaluation, result_.last_validation);
  }
  if (completed && (last || ends_early() || !holds_out)) completed = evaluate_test(step);
  model::release_unused_memory();
  context_.step.network.train();
  state_.evaluation_due = !completed;
  if (completed && ends_early()) {
    note_early_stop(step);
    if (checkpoints != nullptr) checkpoints->ask_to_save();
  }
  return completed;
}

// False if it was interrupted.
bool Trainer::evaluate_test(std::uint64_t step) {
  Evaluator& evaluator = context_.evaluator;
  const bool holds_out = evaluator.holds_out();
  const bool known_last = step + 1 >= settings_.plan.steps || ends_early();
  Evaluation evaluation = evaluator.of_test_images(known_last);
  if (!holds_out && context_.checkpoints != nullptr)
    context_.checkpoints->offer_as_best(evaluation);
  if (evaluation.completed && !holds_out) {
    count_accuracy(step, evaluation, result_.last_evaluation);
  }
  // Only its accuracy shows that it is the last evaluation, which may average several views.
  const bool is_repeated =
      evaluation.completed && !known_last && ends_early() && evaluator.has_views();
  if (is_repeated) {
    // It is counted, also if the repetition is interrupted.
    result_.last_evaluation = evaluation;
    result_.last_evaluation->step = step + 1;
    evaluation = evaluator.of_test_images(true);
  }
  note_evaluation(step, "test", evaluation, result_.last_evaluation);
  return evaluation.completed;
}

}  // namespace tandem::train
