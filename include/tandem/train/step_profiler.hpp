// Writes a Chrome trace of every rank's operators over a few steps (https://ui.perfetto.dev,
// chrome://tracing), by libtorch's profiler. Used on the training thread. Throws what the
// communicator throws; rank 0 calls `warn` if a trace cannot be written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/progress.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/train/step_range.hpp"

namespace tandem::train {

// Receives the trainer's phases and passes them to the next Progress.
class StepProfiler final : public comm::Progress {
 public:
  // `steps` is the same on every rank. `path_of`, called on rank 0, returns the path of a rank's
  // trace; its folder is created if it is missing.
  StepProfiler(comm::Communicator& comm, comm::Progress& next, StepRange steps,
               torch::Device device, std::function<std::string(int rank)> path_of,
               metrics::Warn warn);
  ~StepProfiler() override;

  // Collective with the first phase after the range: finishes.
  void report(std::uint64_t step, comm::Phase phase) override;
  void touch() override { next_.touch(); }
  // Collective. Writes the trace, also if the run ended within the range; does nothing if it is
  // written. False: no step of the range was made.
  bool finish();

 private:
  struct Recording;
  void leave_traces(std::string mine);

  comm::Communicator& comm_;
  comm::Progress& next_;
  const StepRange steps_;
  const torch::Device device_;
  const std::function<std::string(int rank)> path_of_;
  const metrics::Warn warn_;
  std::unique_ptr<Recording> recording_;  // while the steps of the range run
  bool done_ = false;
};

}  // namespace tandem::train
