#include "run_end.hpp"

#include <exception>
#include <string>
#include <vector>

#include "run_report.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/model/pth_file.hpp"
#include "tandem/model/safetensors.hpp"
#include "tandem/model/state_dict.hpp"
#include "tandem/train/checkpoint_store.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::app {
namespace {

// What `error`, which kept one of the model's files from being written, leaves of a run that is
// done. `lost`: why its last checkpoint is not there, or "".
std::string what_is_left(const metrics::RunFolder& folder, bool has_safetensors,
                         const std::string& lost) {
  if (lost.empty()) {
    return "; the run itself is done: free space on the disk, and the same command with --resume "
           "auto writes the model";
  }
  std::string text = "\nthe last checkpoint could not be written either: " + lost;
  text += has_safetensors ? "\nthe final weights are in " + folder.safetensors_path() + " alone"
                          : "\nso the final weights are in no file";
  text +=
      ": free space on the disk, and the same command with --resume auto trains again from the ";
  const bool has_earlier = !train::CheckpointStore(folder.checkpoints_path()).files().empty();
  return text + (has_earlier ? "checkpoint before" : "beginning");
}

}  // namespace

train::TrainResult run_trainer(train::Trainer& trainer,
                               const std::optional<metrics::RunFolder>& folder,
                               const metrics::Sinks& sinks, Job& job, double startup_seconds) {
  try {
    return trainer.run();
  } catch (const std::exception& error) {
    // MPI may still receive into arrays that are freed now.
    const bool is_known_to_all = dynamic_cast<const comm::AgreedError*>(&error) != nullptr;
    auto& watchdog = job.supervision().watchdog();
    if (!is_known_to_all && watchdog) watchdog->stop_carrying();
    if (folder) {
      try {
        for (const auto& sink : sinks) sink->sync();
        const Json summary =
            make_failure_summary(folder->run_id(), trainer.result(), job.topology.world,
                                 startup_seconds, message_of(error));
        leave_result(*folder, summary);
      } catch (const std::exception& unwritten) {
        print_warning(message_of(unwritten));
      }
    }
    throw;
  }
}

void export_model(Job& job, const std::optional<metrics::RunFolder>& folder,
                  model::Network& network, const ModelDescription& description,
                  const std::string& lost) {
  train::broadcast_buffers(job.world, network);
  comm::agree_on_rank_0(job.world, [&] {
    folder->require_held();
    const std::vector<model::NamedTensor> tensors = model::state_dict(network);
    bool has_safetensors = false;
    try {
      model::write_safetensors(folder->safetensors_path(), tensors, description.to_metadata(),
                               [&job] { job.touch(); });
      has_safetensors = true;
      model::write_pth(folder->pth_path(description.dataset), tensors);
      job.touch();
    } catch (const Error& error) {
      // A full disk can make creating a file fail as well as writing it.
      if (error.code() != ExitCode::kIo && error.code() != ExitCode::kCannotCreate) throw;
      throw Error(error.code(), error.what() + what_is_left(*folder, has_safetensors, lost));
    }
  });
}

}  // namespace tandem::app
