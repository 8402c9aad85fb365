#include "name_rules.hpp"

#include <algorithm>
#include <array>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

bool is_clean_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = code_point_at(text);
    const bool is_control = point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0);
    if (!point.is_valid || is_control) return false;
    text.remove_prefix(point.bytes);
  }
  return true;
}

void check_class_names(const std::vector<std::string>& names, const std::string& where,
                       std::size_t most) {
  if (names.empty() || names.size() > most) {
    throw DataError(where + ": holds " + std::to_string(names.size()) + " class names, 1 to " +
                    std::to_string(most) + " are expected");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].size() > kMaxNameBytes || !is_clean_utf8(names[i])) {
      throw DataError(where + ": class name " + std::to_string(i + 1) + " is '" + names[i] +
                      "', 1 to 100 bytes of UTF-8 without control characters are expected");
    }
  }
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_dataset_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameBytes && is_clean_utf8(name) && name[0] != '.' &&
         name.find('/') == std::string::npos;
}

bool has_upright_images(const DatasetInfo& info) {
  constexpr std::array<const char*, 4> kPublished = {"cifar10", "cifar100", "mnist", "synthetic"};
  return info.exif_orientation ||
         std::find(kPublished.begin(), kPublished.end(), info.name) != kPublished.end();
}

}  // namespace tandem::data
