#include "tandem/core/json.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "tandem/core/error.hpp"

namespace tandem {
namespace {

// An upper bound of the nesting for any valid JSON; only quotes and brackets matter.
int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      if (c == '\\') ++i;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
      if (deepest > kMaxJsonDepth) break;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string text_of(const Json& object, const std::string& name) {
  const Json& found = member(object, name.c_str());
  return found.is_string() ? found.get<std::string>() : "";
}

double number_of(const Json& object, const std::string& name) {
  const Json& found = member(object, name.c_str());
  return found.is_number() ? found.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string dump_any_bytes(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string dump_as_ascii(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json parse_json(std::string_view text) {
  if (depth_of(text) > kMaxJsonDepth) {
    throw DataError("JSON is nested more than " + std::to_string(kMaxJsonDepth) +
                    " levels deep, tandem writes no such file");
  }
  return Json::parse(text);
}

Json parse_json_or_discard(std::string_view text) {
  if (depth_of(text) > kMaxJsonDepth) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace tandem
