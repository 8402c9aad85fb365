#include "cuda_build.hpp"

namespace tandem::app {

int cuda_of_build() {
#ifdef TANDEM_CUDA_VERSION
  return TANDEM_CUDA_VERSION;
#else
  return 0;
#endif
}

}  // namespace tandem::app
