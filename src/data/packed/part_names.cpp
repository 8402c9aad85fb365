#include "part_names.hpp"

#include <algorithm>

#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

struct Number {
  std::size_t at = 0;
  std::size_t digits = 0;
};

Number number_in(const std::string& path) {
  const std::size_t end = std::min(path.rfind(".h5"), path.size());
  std::size_t at = end;
  while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9') --at;
  return {at, end - at};
}

}  // namespace

std::string path_of_part(std::string path, std::uint64_t part) {
  const Number number = number_in(path);
  std::string digits = std::to_string(part);
  if (number.digits == 0) return "";
  if (digits.size() < number.digits) digits.insert(0, number.digits - digits.size(), '0');
  return path.replace(number.at, number.digits, digits);
}

std::string pattern_of_part(std::string path) {
  const Number number = number_in(path);
  return shell_word(path.replace(number.at, number.digits, "*"));
}

}  // namespace tandem::data
