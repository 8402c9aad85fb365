// How often a run saves its state, and which checkpoints it keeps, as the options say it.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::train {

struct CheckpointInterval {
  enum class Unit { kSteps, kEpochs, kSeconds };
  std::uint64_t count = 1;  // 0: never
  Unit unit = Unit::kEpochs;

  // "500", "500steps", "2epochs", "30s", "10m".
  static CheckpointInterval parse(const std::string& text);
};

struct KeepRules {
  std::uint64_t last = 3;   // newest ones, at least 1
  std::uint64_t every = 0;  // and all whose step is a multiple of this; 0: none
};

}  // namespace tandem::train
