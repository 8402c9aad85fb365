// The warning about a data set without a seal.
#pragma once

#include <string>

namespace tandem::app {

inline std::string unsealed_warning(const std::string& path) {
  return path + " has no seal, so damage to it cannot be noticed; tandem verify --seal " + path +
         " adds one";
}

}  // namespace tandem::app
