// Parses JSON that comes from outside. nlohmann's parser takes any depth, but copying and printing
// what it made recurse: a megabyte of '[' would end the process. So deep nesting is refused first.
#pragma once

#include <string_view>

#include "tandem/core/json.hpp"

namespace tandem {

// Nothing that tandem writes has more than a handful of levels.
constexpr int kMaxJsonDepth = 64;

// Throws nlohmann's parse_error, and DataError where values are nested more than kMaxJsonDepth
// deep.
Json parse_json(std::string_view text);
// A discarded value where parse_json() throws.
Json parse_json_or_discard(std::string_view text);

}  // namespace tandem
