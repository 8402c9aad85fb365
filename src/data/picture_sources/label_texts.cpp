#include "label_texts.hpp"

#include <algorithm>
#include <numeric>

#include "data/files/name_rules.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {

std::string LabelTexts::fault_of_label(const std::string& text) {
  if (text.empty()) return "has an empty label";
  if (text.size() > kMaxNameBytes) {
    return "has a label of " + format_count(text.size()) +
           " bytes, at most 100 are expected; a caption cannot be a label";
  }
  return is_clean_utf8(text) ? "" : "has a label with control characters or not in UTF-8";
}

Label LabelTexts::number_of(const std::string& text, const std::string& where) {
  const auto [found, is_new] = numbers_.emplace(text, static_cast<Label>(texts_.size()));
  if (!is_new) return found->second;
  if (texts_.size() == kMaxClasses) {
    throw DataError(where + ": is label number 65,536, at most 65,535 classes are possible");
  }
  texts_.push_back({text, where});
  return found->second;
}

std::optional<std::vector<std::uint64_t>> LabelTexts::numbers() const {
  std::vector<std::uint64_t> numbers;
  for (const Text& each : texts_) {
    const std::string& text = each.text;
    if (!is_digits(text) || text.size() > 9) return std::nullopt;
    numbers.push_back(std::stoull(text));
  }
  return numbers;
}

LabelTexts::Classes LabelTexts::classes(const std::vector<std::string>& names,
                                        const std::string& names_file) const {
  const std::optional<std::vector<std::uint64_t>> as_numbers = numbers();
  if (names.empty()) {
    std::vector<Label> order(texts_.size());
    std::iota(order.begin(), order.end(), Label{0});
    std::sort(order.begin(), order.end(), [&](Label a, Label b) {
      if (as_numbers && (*as_numbers)[a] != (*as_numbers)[b]) {
        return (*as_numbers)[a] < (*as_numbers)[b];
      }
      return texts_[a].text < texts_[b].text;
    });
    Classes classes{{}, std::vector<Label>(texts_.size())};
    for (const Label text : order) {
      classes.of_text[text] = static_cast<Label>(classes.names.size());
      classes.names.push_back(texts_[text].text);
    }
    return classes;
  }
  std::unordered_map<std::string, Label> places;
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace(names[i], static_cast<Label>(i));
  const auto is_name = [&](const Text& each) { return places.count(each.text) > 0; };
  const bool are_names = !as_numbers || std::all_of(texts_.begin(), texts_.end(), is_name);
  Classes classes{names, {}};
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (are_names && is_name(texts_[i])) {
      classes.of_text.push_back(places.at(texts_[i].text));
    } else if (!are_names && (*as_numbers)[i] < names.size()) {
      classes.of_text.push_back(static_cast<Label>((*as_numbers)[i]));
    } else {
      throw DataError(texts_[i].where + ": has the label '" + texts_[i].text + "', one of the " +
                      format_quantity(names.size(), "name") + " in " + names_file +
                      ", or for all pictures a number from 0 to " +
                      std::to_string(names.size() - 1) + ", is expected");
    }
  }
  return classes;
}

}  // namespace tandem::data
