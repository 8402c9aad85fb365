// In place of src/session/cuda_build.cpp: a program that is built for the version of CUDA that the
// variable FAKE_CUDA_BUILD says, 13.0 where it is not set, so that what is decided about GPUs is
// seen in every build.
#include "session/cuda_build.hpp"

#include <cstdlib>

namespace tandem::app {

int cuda_of_build() {
  const char* version = std::getenv("FAKE_CUDA_BUILD");
  return version == nullptr ? 13000 : std::atoi(version);
}

std::string libtorch_of_build() { return "1.13.1"; }

}  // namespace tandem::app
