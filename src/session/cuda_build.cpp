#include "cuda_build.hpp"

#include "tandem/comm/gpu_libraries.hpp"

namespace tandem::app {

int cuda_of_build() { return comm::cuda_version_built(); }

std::string libtorch_of_build() { return TANDEM_LIBTORCH_VERSION; }

}  // namespace tandem::app
