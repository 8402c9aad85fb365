#include "tandem/train/checkpoint_rules.hpp"

#include <algorithm>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::train {
namespace {

constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

}  // namespace

CheckpointInterval CheckpointInterval::parse(const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = text.substr(digits);
  CheckpointInterval interval;
  std::uint64_t factor = 1;
  if (unit.empty() || unit == "steps") {
    interval.unit = Unit::kSteps;
  } else if (unit == "epochs") {
    interval.unit = Unit::kEpochs;
  } else if (unit == "s" || unit == "m") {
    interval.unit = Unit::kSeconds;
    factor = unit == "m" ? 60 : 1;
  } else {
    throw UsageError("--checkpoint-every: '" + text +
                     "' is not a number of steps, epochs, s or m, such as 500steps or 10m");
  }
  const std::int64_t count =
      parse_integer(text.substr(0, digits), 0, kMaxCount, "--checkpoint-every");
  interval.count = static_cast<std::uint64_t>(count) * factor;
  return interval;
}

CheckpointIntervals CheckpointIntervals::parse(const std::string& text) {
  CheckpointIntervals intervals;
  intervals.all.clear();
  std::vector<std::string> faults;
  const std::vector<std::string> words = split(text, ',');
  for (const std::string& each : words) {
    try {
      intervals.all.push_back(CheckpointInterval::parse(trim(each)));
    } catch (const UsageError& error) {
      faults.emplace_back(error.what());
    }
  }
  const bool has_zero = std::any_of(intervals.all.begin(), intervals.all.end(),
                                    [](const auto& each) { return each.count == 0; });
  if (has_zero && words.size() > 1) {
    faults.push_back("--checkpoint-every: '" + text +
                     "' has a 0 beside other intervals; give 0 alone, or leave it out");
  }
  if (!faults.empty()) throw UsageError(join(faults, "\n  "));
  return intervals;
}

}  // namespace tandem::train
