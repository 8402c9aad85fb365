// Whether tests that can run on the CPU or on a GPU run on a GPU: TANDEM_TEST_GPU is "real".
#pragma once

#include <cstdlib>
#include <string>

namespace tandem::testing {

inline bool wants_gpu() {
  const char* const value = std::getenv("TANDEM_TEST_GPU");
  return value != nullptr && std::string(value) == "real";
}

}  // namespace tandem::testing
