#include "run_outcome.hpp"

#include <exception>
#include <string>
#include <vector>

#include "run_report.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/model/pth_file.hpp"
#include "tandem/model/safetensors.hpp"
#include "tandem/model/state_dict.hpp"
#include "tandem/train/checkpoint_store.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::app {
namespace {

std::vector<train::CheckpointFile> checkpoints_of(const metrics::RunFolder& folder) {
  return train::CheckpointStore(folder.checkpoints_path()).files();
}

// A full disk can make creating a file fail as well as writing it.
bool is_of_disk(const std::exception& error) {
  const ExitCode code = code_of(error);
  return code == ExitCode::kIo || code == ExitCode::kCannotCreate;
}

// A checkpoint may have been saved before the evaluation whose results could not be added.
bool has_last_checkpoint(const RunOutcome& outcome) {
  const std::vector<train::CheckpointFile> all = checkpoints_of(*outcome.folder);
  return !all.empty() && all.front().step == outcome.result.steps;
}

// The state of a completed run after an error that prevented one of the model's files.
std::string what_is_left(const RunOutcome& outcome, bool has_safetensors) {
  constexpr char kFix[] = ": free space on the disk, and the same command with --resume auto ";
  if (outcome.lost.empty() || has_last_checkpoint(outcome)) {
    const std::string lost =
        outcome.lost.empty() ? "; the run itself is done" : "\n  " + describe_lost(outcome);
    return lost + kFix + (outcome.lost.empty() ? "" : "evaluates again and ") + "writes the model";
  }
  std::string text = "\n  the last checkpoint could not be written either: " + outcome.lost;
  text += has_safetensors
              ? "\n  the final weights are in " + outcome.folder->safetensors_path() + " alone"
              : "\n  so the final weights are in no file";
  return text + kFix + "trains again from the " +
         (checkpoints_of(*outcome.folder).empty() ? "beginning" : "checkpoint before");
}

void leave_failure(const RunOutcome& outcome, int world, const std::exception& error) {
  try {
    // A rank that failed first has written a summary. It is the cause of this failure.
    const std::string earlier = text_of(outcome.folder->read_summary(), "error");
    const std::string cause = earlier.empty() ? message_of(error) : earlier;
    leave_result(*outcome.folder,
                 make_failure_summary(outcome.folder->run_id(), outcome.result, world,
                                      outcome.startup_seconds, cause),
                 is_of_disk(error));
  } catch (const std::exception& unwritten) {
    if (!is_of_disk(error) || !is_of_disk(unwritten)) print_warning(message_of(unwritten));
  }
}

// On a rank other than 0. Rank 0 cannot write the summary, because it waits for this rank. The
// folder may not exist on this host, or belong to another job by now. `owner`: of the folder when
// the training began.
void leave_failure_of_rank(const RunStart& start, const std::string& owner, const Job& job,
                           const train::TrainResult& result, double startup_seconds,
                           const std::exception& error) {
  const std::string reason = "rank " + std::to_string(job.topology.rank) + " (" +
                             job.topology.host + "): " + message_of(error);
  const std::string path = start.path();
  try {
    if (!file_exists(path + "/manifest.json") || file_exists(path + "/summary.json")) return;
    if (owner.empty() || metrics::RunLock::owner_of(path) != owner) return;
    const Json summary =
        make_failure_summary(start.run_id, result, job.topology.world, startup_seconds, reason);
    write_file_atomically(path + "/summary.json", dump_any_bytes(summary, 2) + "\n");
  } catch (const std::exception& unwritten) {
    print_warning(message_of(unwritten));
  }
}

}  // namespace

void open_run(Job& job, const std::optional<metrics::RunFolder>& folder,
              const train::TrainResult& before, const std::function<void()>& work) {
  comm::agree_on_rank_0(job.world, [&] {
    try {
      work();
    } catch (const std::exception& error) {
      if (folder) leave_failure({folder, before, 0, ""}, job.topology.world, error);
      throw;
    }
  });
}

train::TrainResult run_trainer(train::Trainer& trainer,
                               const std::optional<metrics::RunFolder>& folder,
                               const metrics::Sinks& sinks, Job& job, const RunStart& start,
                               const std::function<double()>& begin) {
  double startup_seconds = 0;
  const std::string owner = folder ? "" : metrics::RunLock::owner_of(start.path());
  try {
    startup_seconds = begin();
    return trainer.run();
  } catch (const std::exception& error) {
    // MPI may still receive into arrays that are freed now.
    const bool is_known_to_all = dynamic_cast<const comm::AgreedError*>(&error) != nullptr;
    auto& watchdog = job.supervision().watchdog();
    if (!is_known_to_all && watchdog) watchdog->stop_exchange();
    if (folder) {
      try {
        for (const auto& sink : sinks) sink->sync();
        leave_failure({folder, trainer.result(), startup_seconds, ""}, job.topology.world, error);
      } catch (const std::exception& unwritten) {
        print_warning(message_of(unwritten));
      }
    } else if (!is_known_to_all) {
      leave_failure_of_rank(start, owner, job, trainer.result(), startup_seconds, error);
    }
    throw;
  }
}

void export_model(Job& job, const RunOutcome& outcome, model::Network& network,
                  const ModelDescription& description) {
  train::broadcast_buffers(job.world, network);
  comm::agree_on_rank_0(job.world, [&] {
    const metrics::RunFolder& folder = *outcome.folder;
    folder.require_held();
    const std::vector<model::NamedTensor> tensors = model::state_dict(network);
    bool has_safetensors = false;
    try {
      model::write_safetensors(folder.safetensors_path(), tensors, description.to_metadata(),
                               [&job] { job.touch(); });
      has_safetensors = true;
      model::write_pth(folder.pth_path(description.dataset), tensors);
      job.touch();
    } catch (const Error& error) {
      if (!is_of_disk(error)) throw;
      const Error explained(error.code(), error.what() + what_is_left(outcome, has_safetensors));
      leave_failure(outcome, job.topology.world, explained);
      throw explained;
    }
  });
}

void leave_outcome(const RunOutcome& outcome, const Json& summary) {
  outcome.folder->require_held();
  try {
    leave_result(*outcome.folder, summary, !outcome.lost.empty());
  } catch (const Error& error) {
    if (outcome.lost.empty() || !is_of_disk(error)) throw;
    throw IoError(describe_lost(outcome));
  }
}

std::string describe_lost(const RunOutcome& outcome) {
  return (has_last_checkpoint(outcome)
              ? "the last checkpoint is there, but the evaluation after it could not be added: "
              : "the last checkpoint could not be written: ") +
         outcome.lost;
}

}  // namespace tandem::app
