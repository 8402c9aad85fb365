// The records of a Trainer.
#include <string>
#include <utility>
#include <vector>

#include "epoch_accounting.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/train/trainer.hpp"

namespace tandem::train {
namespace {

constexpr std::uint64_t kFewSteps = 10;  // of which none is left out of images_per_second

}  // namespace

// The summed gradient has the same bits on every rank, so all of them decide alike.
void Trainer::note_skipped(const StepOutcome& outcome) {
  if (outcome.healthy) {  // the scale of the loss is being found
    result_.skipped_steps += outcome.skipped;
    return;
  }
  const std::int64_t none = context_.comm.size();
  const std::int64_t mine = outcome.finite_loss ? none : context_.comm.rank();
  const auto first = context_.comm.all_reduce_value<std::int64_t>(mine, comm::Reduction::kMin);
  const std::uint64_t step = outcome.first_skipped;
  std::string what = "step " + std::to_string(step + 1) + ": the ";
  what += first == none ? "gradient" : "loss of rank " + std::to_string(first);
  what += " is not finite at learning rate " + format_real(context_.schedule.at(step));
  if (!settings_.step.skip_nonfinite) {
    throw comm::AgreedError(ExitCode::kTrainingFailed,
                            what + "; lower --lr, or limit the gradient with --clip-norm");
  }
  result_.skipped_steps += outcome.skipped;
  what += "; the step is skipped";
  if (outcome.skipped > 1) what += ", and " + std::to_string(outcome.skipped - 1) + " after it";
  for (const auto& sink : context_.sinks) {
    sink->on_note({"warning", step + 1, epochs_after(step), what});
  }
}

double Trainer::epochs_after(std::uint64_t step) const {
  return static_cast<double>(step + 1) / static_cast<double>(settings_.plan.steps_per_epoch());
}

void Trainer::count_time(std::uint64_t step, const StepCost& phases, double seconds) {
  log_times_.add(phases, seconds);
  epoch_times_.add(phases, seconds);
  const std::uint64_t images = settings_.plan.images_in_step(step);
  result_.steps = step + 1;
  result_.epochs = epochs_after(step);
  result_.images_seen += images;
  result_.train_seconds += seconds;
  result_.data_seconds += phases.data;
  result_.exchange_seconds += phases.exchange;
  state_.epoch_seconds += seconds;
  log_seconds_ += seconds;
  log_images_ += images;
  const std::uint64_t first = settings_.plan.first_step;
  if (step - first >= kUntimedSteps || settings_.plan.steps - first < kFewSteps) {
    state_.steady_seconds += seconds;
    state_.steady_images += images;
    result_.images_per_second = static_cast<double>(state_.steady_images) / state_.steady_seconds;
  }
}

std::optional<double> Trainer::accuracy_of(const Totals& totals) const {
  if (settings_.multi_label) return std::nullopt;
  return static_cast<double>(totals.correct) / static_cast<double>(totals.images);
}

void Trainer::log_step(std::uint64_t step, Totals totals) {
  totals = reduced(context_.comm, totals);
  metrics::StepRecord record;
  record.step = step + 1;
  record.epoch = epochs_after(step);
  record.loss = totals.mean_loss();
  record.accuracy = accuracy_of(totals);
  record.learning_rate = context_.schedule.at(step);
  record.gradient_norm = gradient_norm_;
  record.images_per_second = static_cast<double>(log_images_) / log_seconds_;
  record.ranks = log_times_.gather(
      context_.comm, context_.system != nullptr ? context_.system->take() : metrics::SystemUsage());
  record.seconds_left = result_.train_seconds / static_cast<double>(step + 1) *
                        static_cast<double>(settings_.plan.steps - step - 1);
  log_seconds_ = 0;
  log_images_ = 0;
  for (const auto& sink : context_.sinks) sink->on_step(record);
}

// Also where the run ends within an epoch; a longer run may go on with it.
void Trainer::finish_epoch(std::uint64_t step, bool epoch_ends) {
  context_.step.arena.check_views();
  const Totals totals = reduced(context_.comm, state_.epoch_totals);
  std::vector<metrics::RankRecord> ranks = epoch_times_.gather(context_.comm);
  const double seconds = state_.epoch_seconds;
  if (epoch_ends) {
    state_.epoch_totals = {};
    state_.epoch_seconds = 0;
  }
  if (context_.comm.rank() != 0) return;
  const Totals expected = expected_accounting(settings_.plan, step);
  if (totals.images != expected.images || totals.id_hash != expected.id_hash) {
    throw InternalError("epoch " + std::to_string(step / settings_.plan.steps_per_epoch() + 1) +
                        " used " + std::to_string(totals.images) + " images; " +
                        std::to_string(expected.images) + ", each exactly once, were expected");
  }
  metrics::EpochRecord record;
  record.step = step + 1;
  record.epoch = epochs_after(step);
  record.images = static_cast<std::uint64_t>(totals.images);
  record.loss = totals.mean_loss();
  record.accuracy = accuracy_of(totals);
  record.train_seconds = seconds;
  record.ranks = std::move(ranks);
  record.is_evaluated = state_.evaluation_due;
  result_.train_loss = record.loss;
  for (const auto& sink : context_.sinks) sink->on_epoch(record);
}

// Rank 0 alone knows the accuracy, and all ranks end together. An evaluation that a resumed run
// repeats counts once: the state has its step.
void Trainer::count_accuracy(std::uint64_t step, const Evaluation& evaluation,
                             const std::optional<Evaluation>& before) {
  const bool is_root = context_.comm.rank() == 0;
  const bool is_counted = before && before->step == step + 1;
  if (is_root && !is_counted) state_.take_accuracy(evaluation.score());
  if (settings_.early_stop == 0) return;
  state_.evaluations_since_best = context_.comm.all_reduce_value<std::uint64_t>(
      is_root ? state_.evaluations_since_best : 0, comm::Reduction::kMax);
}

void Trainer::note_early_stop(std::uint64_t step) {
  const std::string images = context_.evaluator.holds_out() ? "validation" : "test";
  const std::string score = settings_.multi_label ? " mAP in " : " accuracy in ";
  const std::string text = "the run ends: no better " + images + score +
                           format_quantity(state_.evaluations_since_best, "evaluation");
  for (const auto& sink : context_.sinks) {
    sink->on_note({"early_stop", step + 1, epochs_after(step), text});
  }
}

void Trainer::note_evaluation(std::uint64_t step, const char* images, const Evaluation& evaluation,
                              std::optional<Evaluation>& kept) {
  if (!evaluation.completed || context_.comm.rank() != 0) return;
  metrics::EvaluationRecord record;
  record.step = step + 1;
  record.epoch = epochs_after(step);
  record.of = images;
  record.loss = evaluation.loss;
  record.accuracy = evaluation.accuracy;
  record.correct = static_cast<std::uint64_t>(evaluation.correct);
  record.images = static_cast<std::uint64_t>(evaluation.images);
  record.views_accuracy = evaluation.views_accuracy;
  record.top5_accuracy = evaluation.top5_accuracy;
  record.mean_average_precision = evaluation.mean_average_precision;
  record.seconds = evaluation.seconds;
  kept = evaluation;
  kept->step = record.step;
  result_.evaluation_seconds += evaluation.seconds;
  for (const auto& sink : context_.sinks) sink->on_evaluation(record);
  const bool is_of_test = &kept == &result_.last_evaluation;
  if (is_of_test && context_.checkpoints != nullptr) context_.checkpoints->write_evaluation(*kept);
}

}  // namespace tandem::train
