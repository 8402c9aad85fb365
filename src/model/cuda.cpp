#include "tandem/model/cuda.hpp"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include "tandem/core/error.hpp"

namespace tandem::model {
namespace {

constexpr char kLibrary[] = "libtorch_cuda.so";
constexpr char kCure[] =
    "; build with make -f Makefile.hpc build LIBTORCH=wheel, or give --device cpu";

void load() {
  // Its initializers announce its kernels to libtorch.
  if (dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  throw UnavailableError(std::string("libtorch's CUDA part cannot be loaded: ") + dlerror() +
                         kCure);
}

}  // namespace

torch::Device open_cuda(int index) {
  load();
  if (!at::globalContext().hasCUDA()) {
    throw UnavailableError(std::string(kLibrary) + " is loaded and finds no GPU that it can use" +
                           kCure);
  }
  const torch::Device device(torch::kCUDA, static_cast<torch::DeviceIndex>(index));
  try {
    c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
    torch::ones({1}, device).add_(1).item<float>();  // a kernel that runs, where others would fail
  } catch (const c10::Error& error) {
    throw UnavailableError("GPU " + std::to_string(index) +
                           " cannot be used: " + error.what_without_backtrace() + kCure);
  }
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setBenchmarkCuDNN(false);
  at::globalContext().setDeterministicCuDNN(true);
  return device;
}

}  // namespace tandem::model
