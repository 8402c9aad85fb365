// The JSON type used throughout; keys keep the order in which they are set. nlohmann's exceptions
// become DataError in the callers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tandem {

using Json = nlohmann::ordered_json;

// Members of an untrusted JSON object. Each may be absent or of another type.
// Null if `object` is no object or has no such member.
const Json& member(const Json& object, const char* name);
// Empty if it is not text.
std::string text_of(const Json& object, const std::string& name);
// NaN if it is not a number.
double number_of(const Json& object, const std::string& name);

// Json::dump() throws if a text is not UTF-8. These replace such bytes with U+FFFD.
// A negative `indent`: one line.
std::string dump_any_bytes(const Json& json, int indent = -1);
// One line, with other characters than ASCII as \uNNNN.
std::string dump_as_ascii(const Json& json);

// Parses JSON from outside. nlohmann's parser accepts any depth, but copying and printing the
// result recurse: a megabyte of '[' would overflow the stack. So deep nesting is refused first.
// JSON that tandem writes has only a few levels.
constexpr int kMaxJsonDepth = 64;

// Throws nlohmann's parse_error, and DataError if the nesting is deeper than kMaxJsonDepth.
Json parse_json(std::string_view text);
// The same, but returns a discarded value instead of throwing.
Json parse_json_or_discard(std::string_view text);

}  // namespace tandem

// Converts a struct to a JSON object with a key for each member, and back, by nlohmann's
// conversions, which throw if a member is absent or of another type.
// Use it in the namespace of the struct. nlohmann's NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE does the
// same for objects that do not keep the order of their members.
#define TANDEM_JSON_STRUCT(Type, ...)                                                   \
  inline void to_json(::tandem::Json& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))            \
  }                                                                                     \
  inline void from_json(const ::tandem::Json& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__))          \
  }
