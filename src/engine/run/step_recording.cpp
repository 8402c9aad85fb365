#include "step_recording.hpp"

#include "tandem/comm/agree.hpp"
#include "tandem/core/print.hpp"
#include "tandem/model/fused_operators.hpp"
#include "tandem/model/network_names.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::app {

StepRecording::StepRecording(const RunRequest& run, const RunDevice& device) {
  if (device.device.is_cpu()) return;
  const train::TrainConfig& config = run.train.config;
  facts_.is_wanted = run.options.text("cuda-graph") != "off";
  facts_.has_graphs = model::kTellsCurrentStream && model::fused::why_unavailable().empty();
  facts_.profiles = run.train.reporting.profile.has_value();
  facts_.is_script = model::is_script_file(config.model);
  facts_.micro_batches = config.accumulate;
  facts_.weighs_classes = config.weighs_classes();
  facts_.augments_on_host = !config.augment.is_crop_and_flip();
  why_not_ = why_not_recorded(facts_);
  if (why_not_.empty()) stream_.emplace(device.device);
}

std::unique_ptr<train::RecordedSteps> StepRecording::steps_of(Job& job, TrainingSession& session) {
  if (!stream_) return nullptr;
  const train::BatchSource* batches = session.batches.get();
  const comm::Collectives& gradients = session.transport.collectives();
  facts_.has_resident_images = dynamic_cast<const train::ResidentBatches*>(batches) != nullptr;
  const bool is_sent = dynamic_cast<const train::SentBatches*>(batches) != nullptr;
  facts_.augments_on_host = facts_.augments_on_host || is_sent;
  facts_.sums_on_host = gradients.size() > 1 && !gradients.has_async_progress();
  why_not_ = why_not_recorded(facts_);
  // Free memory may differ between GPUs, and NCCL prepares recordings on all ranks together.
  const bool all = comm::is_true_everywhere(job.world, why_not_.empty());
  if (!all && why_not_.empty()) why_not_ = "another rank cannot record its steps";
  if (!all) return nullptr;
  return std::make_unique<train::RecordedSteps>(model::make_step_graph, print_warning);
}

}  // namespace tandem::app
