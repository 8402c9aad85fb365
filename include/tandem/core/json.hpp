// The JSON type used throughout; keys keep the order in which they are set. nlohmann's exceptions
// become DataError in the callers.
#pragma once

#include <nlohmann/json.hpp>

namespace tandem {
using Json = nlohmann::ordered_json;
}  // namespace tandem
