// What: the JSON type used throughout; keys keep the order in which they are set.
// Owns: values. Threads: one per object. Throws: nlohmann's exceptions; callers turn them into
// DataError.
#pragma once

#include <nlohmann/json.hpp>

namespace tandem {
using Json = nlohmann::ordered_json;
}  // namespace tandem
