// The values of an enumeration with the names that options and files give them, as a constexpr
// table in the order of help texts.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem {

template <typename Value, std::size_t kCount>
using NamedValues = std::array<std::pair<Value, const char*>, kCount>;

template <typename Value, std::size_t kCount>
std::vector<std::string> names_of(const NamedValues<Value, kCount>& table) {
  std::vector<std::string> names;
  for (const auto& [value, name] : table) names.emplace_back(name);
  return names;
}

// Requires that the table has the value.
template <typename Value, std::size_t kCount>
std::string name_of(const NamedValues<Value, kCount>& table, Value wanted) {
  for (const auto& [value, name] : table) {
    if (value == wanted) return name;
  }
  throw InternalError("a value has no name");
}

// `what` names the enumeration in the UsageError for an unknown name.
template <typename Value, std::size_t kCount>
Value value_of(const NamedValues<Value, kCount>& table, const std::string& what,
               const std::string& wanted) {
  for (const auto& [value, name] : table) {
    if (wanted == name) return value;
  }
  throw UsageError(what + " '" + wanted + "' is not known, expected " +
                   join(names_of(table), " or "));
}

}  // namespace tandem
