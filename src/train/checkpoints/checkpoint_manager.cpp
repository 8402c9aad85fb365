#include "tandem/train/checkpoint_manager.hpp"

#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/train/drift_check.hpp"
#include "train/evaluation/evaluation_file.hpp"

namespace tandem::train {

CheckpointManager::CheckpointManager(const Checkpointer::Context& context,
                                     const CheckpointPolicy& checkpoint_policy,
                                     const BoundaryRules& rules,
                                     std::map<std::string, std::string> metadata,
                                     const Output& output, const Earlier& earlier)
    : context_(context),
      checkpoint_policy_(checkpoint_policy),
      steps_per_epoch_(rules.steps_per_epoch),
      folder_(output.folder),
      images_(output.images),
      fit_(output.fit),
      sinks_(output.sinks),
      kept_accuracy_(earlier.best_accuracy),
      best_accuracy_(earlier.best_accuracy),
      policy_(context.comm, rules),
      checkpointer_(
          context,
          CheckpointStore(folder_ ? folder_->checkpoints_path() : "",
                          [this, touch = output.touch] {
                            if (checkpointer_.is_awaited()) call(touch);
                          }),
          checkpoint_policy.keep, std::move(metadata),
          {[this](std::uint64_t step, const std::string& path, bool is_best) {
             if (is_best) kept_accuracy_ = best_accuracy_;
             note("checkpoint", step, path);
           },
           [this](std::uint64_t step, const std::string& why, bool is_best) {
             if (is_best) best_accuracy_ = kept_accuracy_;
             note("warning", step, why);
           },
           [this](std::uint64_t step, const std::string& why) { note("warning", step, why); },
           [this] {
             folder_->require_held();
             for (const auto& sink : sinks_) sink->sync();
           }},
          earlier.durable) {}

Boundary CheckpointManager::decide(std::uint64_t step, bool evaluated) {
  if (folder_ != nullptr) folder_->require_held();
  const std::uint64_t every = checkpoint_policy_.drift_check_every;
  if (every > 0 && step % every == 0 && !evaluated) {  // evaluations change no weight
    require_equal_state(context_.comm, context_.arena, context_.optimizer);
  }
  return policy_.decide(step, evaluated);
}

// An evaluation may run out of memory where training did not, so it waits until the checkpoint is
// durable. All other ranks wait for rank 0 before their first batch.
void CheckpointManager::save(const TrainingState& state) {
  // A save because of time must not change the results: another run may save at another step.
  checkpointer_.save(state, policy_.is_timed() ? Buffers::kLeave : Buffers::kShare);
  if (state.evaluation_due) checkpointer_.finish_write();
}

void CheckpointManager::offer_as_best(const Evaluation& evaluation) {
  const bool is_known_here = context_.comm.rank() == 0 && evaluation.completed;
  if (!checkpoint_policy_.save_best || !is_known_here) return;
  checkpointer_.finish_write();  // tells whether the previous best was written
  if (best_accuracy_ && evaluation.score() <= *best_accuracy_) return;
  best_accuracy_ = evaluation.score();
  checkpointer_.mark_best();
  policy_.ask_to_save();
}

void CheckpointManager::ask_to_save() { policy_.ask_to_save(); }

void CheckpointManager::write_evaluation(const Evaluation& evaluation) {
  folder_->require_held();
  try {
    folder_->write_evaluation(make_evaluation_file(evaluation, *images_, fit_));
  } catch (const Error& error) {
    note("warning", evaluation.step, message_of(error) + "; the run continues without it");
  }
}

void CheckpointManager::note(const char* event, std::uint64_t step, const std::string& text) {
  const double epoch = static_cast<double>(step) / static_cast<double>(steps_per_epoch_);
  for (const auto& sink : sinks_) sink->on_note({event, step, epoch, text});
}

}  // namespace tandem::train
