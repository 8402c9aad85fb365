#include <dlfcn.h>

#include "support/test_gpu.hpp"

namespace tandem::testing {
namespace {

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw InternalError(std::string("no function ") + name);
}

}  // namespace

TestGpu real_gpu() {
  TestGpu gpu;
  gpu.api = comm::load_gpu_api();
  void* cuda = dlopen(comm::cuda_library_name().c_str(), RTLD_NOW | RTLD_NOLOAD);
  find(cuda, "cudaMalloc", gpu.allocate);
  find(cuda, "cudaFree", gpu.free);
  find(cuda, "cudaMemcpyAsync", gpu.copy);
  find(cuda, "cudaLaunchHostFunc", gpu.call_host);
  find(cuda, "cudaStreamSynchronize", gpu.synchronize);
  return gpu;
}

}  // namespace tandem::testing
