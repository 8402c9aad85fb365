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

train::TrainResult run_trainer(train::Trainer& trainer,
                               const std::optional<metrics::RunFolder>& folder,
                               const train::ImageStore& images, int world, double startup_seconds) {
  try {
    return trainer.run();
  } catch (const std::exception& error) {
    if (folder) {
      try {
        const Json summary = make_failure_summary(folder->run_id(), trainer.result(), world,
                                                  startup_seconds, message_of(error));
        leave_result(*folder, trainer.result(), images, summary);
      } catch (const std::exception& unwritten) {
        print_warning(message_of(unwritten));
      }
    }
    throw;
  }
}

void export_model(Job& job, const std::optional<metrics::RunFolder>& folder,
                  model::Network& network, const ModelDescription& description) {
  train::broadcast_buffers(job.world, network);
  comm::agree_on_rank_0(job.world, [&] {
    const std::vector<model::NamedTensor> tensors = model::state_dict(network);
    try {
      model::write_safetensors(folder->safetensors_path(), tensors, description.to_metadata());
      model::write_pth(folder->pth_path(description.dataset), tensors);
    } catch (const IoError& error) {
      throw IoError(std::string(error.what()) +
                    "; the run itself is done: see to the disk, and the same command with "
                    "--resume auto writes the model");
    }
  });
}

}  // namespace tandem::app
