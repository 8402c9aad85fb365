#include "tandem/model/cuda.hpp"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include "tandem/core/error.hpp"
#include "tandem/model/fused_operators.hpp"

namespace tandem::model {
namespace {

constexpr char kLibrary[] = "libtorch_cuda.so";
constexpr char kFix[] =
    "; build with make -f Makefile.hpc build LIBTORCH=wheel, or give --device cpu";

void load() {
  // Its initializers announce its kernels to libtorch.
  if (dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  throw UnavailableError(std::string("libtorch's CUDA part cannot be loaded: ") + dlerror() + kFix);
}

}  // namespace

torch::Device open_cuda(int index, const CudaSettings& settings) {
  load();
  if (!at::globalContext().hasCUDA()) {
    throw UnavailableError(std::string(kLibrary) + " is loaded and finds no GPU that it can use" +
                           kFix);
  }
  const torch::Device device(torch::kCUDA, static_cast<torch::DeviceIndex>(index));
  try {
    c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
    // Kernels that run, where others would fail. The backward pass gives autograd's thread a CUDA
    // context; otherwise cuBLAS makes one and warns.
    const torch::AutoGradMode with_gradients(true);
    const torch::Tensor one = torch::ones({}, device).requires_grad_();
    (one * 2).backward();
    one.grad().item<float>();
  } catch (const c10::Error& error) {
    throw UnavailableError("GPU " + std::to_string(index) +
                           " cannot be used: " + error.what_without_backtrace() + kFix);
  }
  at::globalContext().setAllowTF32CuBLAS(settings.allows_tf32);
  at::globalContext().setAllowTF32CuDNN(settings.allows_tf32);
  at::globalContext().setBenchmarkCuDNN(!settings.is_deterministic);
  at::globalContext().setDeterministicCuDNN(settings.is_deterministic);
  if (settings.opens_kernels) fused::open_library(index);
  return device;
}

std::uint64_t free_memory_of(torch::Device gpu) {
  // libtorch's CUDA library has brought CUDA's runtime, which this program does not link.
  using MemGetInfo = int (*)(std::size_t * free, std::size_t * total);
  const auto ask = reinterpret_cast<MemGetInfo>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
  if (ask == nullptr) return 0;
  const c10::impl::VirtualGuardImpl guard(gpu.type());
  guard.setDevice(gpu);
  std::size_t free = 0;
  std::size_t total = 0;
  return ask(&free, &total) == 0 ? free : 0;
}

}  // namespace tandem::model
