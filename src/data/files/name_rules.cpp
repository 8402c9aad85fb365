#include "name_rules.hpp"

#include <algorithm>
#include <array>

#include "tandem/core/error.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {
namespace {

// The code point at the start of `text`, and how many bytes it takes: 0 where it is not UTF-8.
std::size_t decode(std::string_view text, char32_t& point) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80             ? 1
                             : (first & 0xE0) == 0xC0 ? 2
                             : (first & 0xF0) == 0xE0 ? 3
                             : (first & 0xF8) == 0xF0 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  constexpr unsigned char kPayload[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  point = first & kPayload[length];
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return 0;
    point = (point << 6) | (byte & 0x3F);
  }
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < kSmallest[length] || point > 0x10FFFF || surrogate ? 0 : length;
}

}  // namespace

bool is_clean_utf8(std::string_view text) {
  while (!text.empty()) {
    char32_t point = 0;
    const std::size_t length = decode(text, point);
    if (length == 0 || point < 0x20 || (point >= 0x7F && point < 0xA0)) return false;
    text.remove_prefix(length);
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
