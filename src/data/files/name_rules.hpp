// The rules for names of classes and data sets from any source. Throws DataError.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

constexpr std::size_t kMaxNameBytes = 100;

// UTF-8 (no overlong forms, no surrogates) without control characters (C0, DEL, C1).
bool is_clean_utf8(std::string_view text);
// The most class names that an attribute of version 1 can hold.
constexpr std::size_t kMaxListedClasses = 1000;
// 1 to `most` names of 1 to 100 bytes each; `where` begins the message.
void check_class_names(const std::vector<std::string>& names, const std::string& where,
                       std::size_t most = kMaxListedClasses);
// 64 hex digits, the letters in lower case.
bool is_digest(std::string_view text);
// 1 to 100 bytes that can be part of a file name.
bool is_dataset_name(const std::string& name);
constexpr char kDatasetNameRule[] =
    "1 to 100 bytes of UTF-8 without '/', leading '.' or control characters are expected";

}  // namespace tandem::data
