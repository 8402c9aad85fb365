// A function that the engine finds by name in libtandem_gpu.so.
#include <torch/library.h>

#include <exception>
#include <string>

#include "cuda_launcher.hpp"
#include "register.hpp"

// Registers the operators for CUDA, with kernels for GPU `index`. The reason why they cannot be
// used, or null. Call it on one thread at a time, once CUDA is initialized.
extern "C" __attribute__((visibility("default"))) const char* tandem_gpu_open(int index) {
  static std::string reason;
  static bool is_open = false;
  if (is_open) return nullptr;
  try {
    // Neither is ever destroyed: operators may be called until the process ends.
    tandem::gpu::use_launcher(*tandem::gpu::make_cuda_launcher(index).release());
    auto* const library = new torch::Library(torch::Library::IMPL, "tandem", c10::DispatchKey::CUDA,
                                             __FILE__, __LINE__);
    tandem::gpu::register_operators(*library);
    is_open = true;
    return nullptr;
  } catch (const std::exception& error) {
    reason = error.what();
    return reason.c_str();
  }
}
