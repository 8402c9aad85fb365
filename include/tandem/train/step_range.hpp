// Some steps of a run, as --profile names them.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::train {

// Steps of a run, 1 is the first; both included.
struct StepRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  // "8" is one step, "6-10" are five. Throws UsageError.
  static StepRange parse(const std::string& text);
};

}  // namespace tandem::train
