#include "tandem/train/step_range.hpp"

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::train {

StepRange StepRange::parse(const std::string& text) {
  const std::vector<std::string> ends = split(text, '-');
  const auto step = [](const std::string& number) {
    return static_cast<std::uint64_t>(parse_integer(number, 1, std::int64_t{1} << 40, "--profile"));
  };
  const UsageError refusal("--profile: '" + text + "' is neither a step nor two, such as 6-10");
  if (ends.size() > 2) throw refusal;
  StepRange range{1, 1};
  try {
    range = {step(ends.front()), step(ends.back())};
  } catch (const UsageError&) {
    throw refusal;  // of the whole, as it was typed
  }
  if (range.last < range.first) {
    throw UsageError("--profile: '" + text + "' ends before it begins");
  }
  return range;
}

}  // namespace tandem::train
