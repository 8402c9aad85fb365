#include "tandem/train/checkpointer.hpp"

#include <memory>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/thread.hpp"
#include "tandem/train/drift_check.hpp"
#include "tandem/train/replicate.hpp"
#include "tandem/train/snapshot.hpp"

namespace tandem::train {
namespace {

std::uint64_t bytes_of(const std::vector<model::NamedTensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const model::NamedTensor& each : tensors) bytes += each.tensor.nbytes();
  return bytes;
}

// The fields that identify a state: two states with equal fields hold the same tensors and differ
// at most in measured times.
Json progress_of(const TrainingState& state) {
  const Json all = state.to_json();
  Json progress;
  for (const char* field : {"step", "evaluation_due", "last_evaluation", "last_validation"}) {
    progress[field] = all.at(field);
  }
  return progress;
}

}  // namespace

Checkpointer::Checkpointer(Context context, CheckpointStore store, KeepRules keep,
                           std::map<std::string, std::string> metadata, Reports reports,
                           const std::optional<TrainingState>& durable)
    : context_(std::move(context)),
      keep_(keep),
      metadata_(std::move(metadata)),
      reports_(std::move(reports)),
      store_(std::move(store)) {
  if (durable) durable_ = progress_of(*durable);
}

void Checkpointer::save(const TrainingState& state, Buffers buffers) {
  require_no_foreign_write(context_.comm, context_.optimizer);
  context_.optimizer.swap_average();  // the average is the model
  save_swapped(state, buffers);
  context_.optimizer.swap_average();
}

void Checkpointer::save_swapped(const TrainingState& state, Buffers buffers) {
  // Only rank 0 uses `host` after broadcast_buffers(), which does not change rank 0's buffers.
  const HostState host = state_on_host(context_.network, context_.arena, context_.optimizer);
  require_equal_state(context_.comm, context_.arena, host);
  require_finite_state(context_.comm, context_.arena, host);
  if (buffers == Buffers::kShare) share_buffers();
  std::vector<model::NamedTensor> more;
  if (context_.more_state) more = context_.more_state();
  if (context_.comm.rank() != 0) return;
  finish_write();
  Json progress = progress_of(state);
  if (!is_best_ && progress == durable_) return;
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->tensors = take_snapshot(context_.network, context_.arena, host);
  for (model::NamedTensor& each : more) checkpoint->tensors.push_back(std::move(each));
  checkpoint->metadata = metadata_;
  checkpoint->metadata["optimizer_steps"] = std::to_string(context_.optimizer.steps());
  checkpoint->state = state;
  step_ = state.step;
  progress_ = std::move(progress);
  bytes_ = bytes_of(checkpoint->tensors);
  writes_best_ = checkpoint->is_best = std::exchange(is_best_, false);
  is_awaited_ = false;
  write_ = std::async(kThreadIfGranted, [this, checkpoint] {
    name_this_thread("checkpoint");
    // Syncs the metrics first, so that no checkpoint is durable before the metrics up to its step.
    reports_.before_write();
    return store_.write(*checkpoint, keep_);
  });
}

void Checkpointer::share_buffers() {
  broadcast_buffers(context_.comm, context_.network);
  for (const StateArray& each : context_.optimizer.unlike_parameters()) {
    broadcast_tensor(context_.comm, each.values);
  }
}

void Checkpointer::finish_write() {
  if (!write_.valid()) return;
  is_awaited_ = true;
  try {
    const std::vector<std::string> failures = write_.get();
    last_failure_.clear();
    durable_ = progress_;
    reports_.on_written(step_, store_.path_of(step_), writes_best_);
    for (const std::string& each : failures) {
      reports_.on_warning(step_, each +
                                     "; the checkpoint of this step is whole, and the next one "
                                     "tries again");
    }
  } catch (const std::exception& error) {
    last_failure_ = message_of(error) + "; a checkpoint needs " + format_bytes(bytes_) +
                    "; check the disk, or choose another --runs-dir";
    reports_.on_failed(step_, last_failure_, writes_best_);
  }
}

std::string Checkpointer::finish() {
  finish_write();
  const std::string without_best = store_.name_best();
  if (!without_best.empty()) {
    reports_.on_warning(step_, without_best + "; the file of that name is an earlier one");
  }
  return last_failure_;
}

}  // namespace tandem::train
