// Reads the checked-in expectations of tests/golden.
#pragma once

#include <string>

#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"

namespace tandem::testing {

inline Json read_golden(const std::string& name) {
  return Json::parse(read_file(TANDEM_TESTS_FOLDER "/golden/" + name));
}

}  // namespace tandem::testing
