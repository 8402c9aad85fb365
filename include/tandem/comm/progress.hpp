// How a rank reports its step and phase to the watchdog. Called on the rank's main thread. Does not
// throw.
#pragma once

#include <cstdint>

namespace tandem::comm {

// In the order of execution, within a step and after the last step.
enum class Phase : std::uint32_t {
  kStartUp,
  kData,
  kCompute,
  kExchange,
  kUpdate,
  kEvaluation,
  kCheckpoint,
  kExport,
  kShutdown,
  kDone  // the rank need not advance any more
};

// "exchange"
const char* phase_name(Phase phase);

class Progress {
 public:
  virtual ~Progress() = default;
  // `step`: the current one, from 1; 0: before the first. Takes nanoseconds.
  virtual void report(std::uint64_t step, Phase phase) = 0;
  // Records that a long phase advances.
  virtual void touch() = 0;
};

}  // namespace tandem::comm
