#include "tandem/model/hidden_widths.hpp"

#include <algorithm>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {

HiddenWidths default_hidden_widths() { return {512, 512}; }

HiddenWidths widths_or_default(const HiddenWidths& widths) {
  return widths.empty() ? default_hidden_widths() : widths;
}

HiddenWidths parse_hidden_widths(const std::string& text) {
  HiddenWidths widths;
  std::vector<std::string> faults;
  for (const std::string& word : split(text, ',')) {
    try {
      widths.push_back(parse_integer(word, 1, kMaxHiddenWidth, "--hidden"));
    } catch (const UsageError& error) {
      faults.emplace_back(error.what());
    }
  }
  if (!faults.empty()) throw UsageError(join(faults, "\n  "));
  if (!are_possible(widths)) {
    throw UsageError("--hidden: " + std::to_string(widths.size()) +
                     " layers are too many, at most " + std::to_string(kMaxHiddenLayers) +
                     " were expected, such as 512,512");
  }
  return widths;
}

std::string hidden_widths_text(const HiddenWidths& widths) {
  std::vector<std::string> words;
  for (const std::int64_t width : widths) words.push_back(std::to_string(width));
  return join(words, ",");
}

bool are_possible(const HiddenWidths& widths) {
  return !widths.empty() && widths.size() <= kMaxHiddenLayers &&
         std::all_of(widths.begin(), widths.end(),
                     [](std::int64_t width) { return width >= 1 && width <= kMaxHiddenWidth; });
}

}  // namespace tandem::model
