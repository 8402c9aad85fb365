// Recording the steps of a run as a CUDA graph. Main thread. Throws what libtorch throws.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "run_inputs.hpp"
#include "tandem/model/step_graph.hpp"
#include "tandem/train/recorded_steps.hpp"
#include "training_session.hpp"

namespace tandem::app {

class StepRecording {
 public:
  // Before anything of the run is made on the device.
  StepRecording(const RunRequest& run, const RunDevice& device);

  // Collective. Null where steps are not recorded; `why_not` then says why. The result must not
  // outlive the session: NCCL ends only when no recording of its collectives is left.
  std::unique_ptr<train::RecordedSteps> steps_of(Job& job, TrainingSession& session);
  const std::string& why_not() const { return why_not_; }

 private:
  train::RecordingFacts facts_;
  std::string why_not_;
  std::optional<model::SideStream> stream_;
};

}  // namespace tandem::app
