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
#include "tandem/train/replicate.hpp"

namespace tandem::app {
namespace {

// A full disk can make creating a file fail as well as writing it.
Error without_model(const Error& error, const std::string& lost) {
  if (lost.empty()) {
    return Error(error.code(), std::string(error.what()) +
                                   "; the run itself is done: see to the disk, and the same "
                                   "command with --resume auto writes the model");
  }
  return Error(error.code(), std::string(error.what()) +
                                 "\nthe last checkpoint could not be written either: " + lost +
                                 "\nso the final weights are in no file: see to the disk, and the "
                                 "same command with --resume auto trains again from the checkpoint "
                                 "before");
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
    try {
      model::write_safetensors(folder->safetensors_path(), tensors, description.to_metadata(),
                               [&job] { job.touch(); });
      model::write_pth(folder->pth_path(description.dataset), tensors);
      job.touch();
    } catch (const IoError& error) {
      throw without_model(error, lost);
    } catch (const CannotCreateError& error) {
      throw without_model(error, lost);
    }
  });
}

}  // namespace tandem::app
