// Labels as text in a list or an archive, and the classes that they stand for. One thread. Throws
// DataError.
//
// With class names, either every label is a name, or every label is the index of a name, from 0.
// Without class names, the labels are the classes. They are sorted as numbers if all are whole
// numbers, else by bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

class LabelTexts {
 public:
  // The reason why this text cannot be a label; empty if it can.
  static std::string fault_of_label(const std::string& text);

  // The number of a text, in the order of their first use. `where` names its picture. DataError for
  // more than kMaxClasses texts.
  Label number_of(const std::string& text, const std::string& where);

  struct Classes {
    std::vector<std::string> names;
    std::vector<Label> of_text;  // the class of each text, by its number
  };
  // `names_file`: where `names` come from. `names` may be empty: there are none.
  Classes classes(const std::vector<std::string>& names, const std::string& names_file) const;

 private:
  // All texts as numbers, if each is a whole number.
  std::optional<std::vector<std::uint64_t>> numbers() const;

  struct Text {
    std::string text;
    std::string where;  // of its first use
  };
  std::vector<Text> texts_;
  std::unordered_map<std::string, Label> numbers_;
};

}  // namespace tandem::data
