// When a run saves its state, compares it between ranks and stops, and which checkpoints it keeps,
// as the options say it. parse() throws UsageError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::train {

struct CheckpointInterval {
  enum class Unit { kSteps, kEpochs, kSeconds };
  std::uint64_t count = 1;  // 0: never
  Unit unit = Unit::kEpochs;

  // "500", "500steps", "2epochs", "30s", "10m".
  static CheckpointInterval parse(const std::string& text);
};

// A checkpoint is due if any of these intervals has passed.
struct CheckpointIntervals {
  std::vector<CheckpointInterval> all;

  CheckpointIntervals(CheckpointInterval only = {}) : all{only} {}  // NOLINT: one is a list, too
  CheckpointIntervals(std::uint64_t count, CheckpointInterval::Unit unit)
      : CheckpointIntervals(CheckpointInterval{count, unit}) {}
  // "1epochs,10m", or one alone. 0 is alone.
  static CheckpointIntervals parse(const std::string& text);
};

struct KeepRules {
  std::uint64_t last = 3;   // newest ones, at least 1
  std::uint64_t every = 0;  // and all whose step is a multiple of this; 0: none
};

struct CheckpointPolicy {
  CheckpointIntervals checkpoint_every;
  KeepRules keep;
  bool save_best = false;
  std::uint64_t drift_check_every = 0;  // steps; 0: never
  double stop_after_seconds = 0;        // 0: never
  bool skip_nonfinite = false;
};

}  // namespace tandem::train
