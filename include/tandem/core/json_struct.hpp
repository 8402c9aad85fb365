// Converts a struct to a JSON object with a key for each member, and back, by nlohmann's
// conversions, which throw if a member is absent or of another type.
#pragma once

#include "tandem/core/json.hpp"

// Use it in the namespace of the struct. nlohmann's NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE does the
// same for objects that do not keep the order of their members.
#define TANDEM_JSON_STRUCT(Type, ...)                                                   \
  inline void to_json(::tandem::Json& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))            \
  }                                                                                     \
  inline void from_json(const ::tandem::Json& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__))          \
  }
