// Reads members of a JSON object from outside, in which each may be absent or of another type. Does
// not throw.
#pragma once

#include <string>

#include "tandem/core/json.hpp"

namespace tandem {

// Null if `object` is no object or has no such member.
const Json& member(const Json& object, const std::string& name);
// Empty if it is not text.
std::string text_of(const Json& object, const std::string& name);
// NaN if it is not a number.
double number_of(const Json& object, const std::string& name);

}  // namespace tandem
