// What: where a rank is in its work, as it reports it, for whoever watches that all of them
// advance. Owns: nothing. Threads: the reporting rank's main thread. Throws: nothing.
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
  // `step` counts from 1 and is the one under way; 0: before the first. Takes nanoseconds.
  virtual void report(std::uint64_t step, Phase phase) = 0;
  // That a long phase advances.
  virtual void touch() = 0;
};

}  // namespace tandem::comm
