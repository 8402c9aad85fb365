// Parses JSON from outside. nlohmann's parser accepts any depth, but copying and printing the
// result recurse: a megabyte of '[' would overflow the stack. So deep nesting is refused first.
#pragma once

#include <string_view>

#include "tandem/core/json.hpp"

namespace tandem {

// JSON that tandem writes has only a few levels.
constexpr int kMaxJsonDepth = 64;

// Throws nlohmann's parse_error, and DataError if the nesting is deeper than kMaxJsonDepth.
Json parse_json(std::string_view text);
// The same, but returns a discarded value instead of throwing.
Json parse_json_or_discard(std::string_view text);

}  // namespace tandem
