#include "tandem/core/json_fields.hpp"

#include <limits>

namespace tandem {

const Json& member(const Json& object, const std::string& name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string text_of(const Json& object, const std::string& name) {
  const Json& found = member(object, name);
  return found.is_string() ? found.get<std::string>() : "";
}

double number_of(const Json& object, const std::string& name) {
  const Json& found = member(object, name);
  return found.is_number() ? found.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tandem
