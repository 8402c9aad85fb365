#include "cuda_launcher.hpp"

#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <dlfcn.h>

#include <mutex>
#include <unordered_map>

#include "compiler.hpp"
#include "kernel_cache.hpp"
#include "kernel_source.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"

#define TANDEM_DRIVER_FUNCTIONS(each)                                                     \
  each(cuGetErrorName) each(cuDeviceGet) each(cuDeviceGetAttribute) each(cuCtxGetCurrent) \
      each(cuCtxSetCurrent) each(cuModuleLoadData) each(cuModuleGetFunction) each(cuLaunchKernel)

namespace tandem::gpu {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

struct Driver {
#define TANDEM_MEMBER(name) decltype(&::name) name = nullptr;
  TANDEM_DRIVER_FUNCTIONS(TANDEM_MEMBER)
#undef TANDEM_MEMBER

  Driver() {
    void* const library = dlopen(kDriver, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw UnavailableError(std::string("no CUDA driver: ") + dlerror());
#define TANDEM_FIND(name)                                            \
  name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (name == nullptr) throw UnavailableError(std::string(kDriver) + " has no " #name);
    TANDEM_DRIVER_FUNCTIONS(TANDEM_FIND)
#undef TANDEM_FIND
  }

  void check(CUresult result, const std::string& call) const {
    if (result == CUDA_SUCCESS) return;
    throw UnavailableError(call + " failed: " + name_of(result) + " (CUDA driver error " +
                           std::to_string(result) + ")");
  }
  // In the words and by the exception of libtorch, which model::gpu_failure() knows: it may be that
  // an earlier kernel has failed.
  void check_start(CUresult result, const std::string& kernel) const {
    TORCH_CHECK(result == CUDA_SUCCESS, "CUDA driver error: ", name_of(result),
                ", starting kernel ", kernel);
  }

 private:
  std::string name_of(CUresult result) const {
    const char* name = nullptr;
    cuGetErrorName(result, &name);
    return name == nullptr ? "unknown error" : name;
  }
};

// The cache's name for compiled kernels: all that they depend on.
std::string entry_name(const Compiler& compiler, int architecture) {
  Sha256 digest;
  for (const KernelFile& file : kernel_files()) {
    digest.update(file.name, std::string(file.name).size() + 1);
    digest.update(file.text, std::string(file.text).size() + 1);
  }
  for (const char* option : kCompilerOptions) digest.update(option, std::string(option).size() + 1);
  return "kernels-" + digest.finish().substr(0, 32) + "-sm_" + std::to_string(architecture) +
         "-nvrtc-" + compiler.version();
}

std::string kernels_for(int architecture) {
  const Compiler compiler;
  return cached(cache_folder(), entry_name(compiler, architecture),
                [&] { return compiler.compile(architecture).binary; });
}

class CudaLauncher final : public Launcher {
 public:
  explicit CudaLauncher(int index) : index_(index) {
    driver_.check(driver_.cuCtxGetCurrent(&context_), "cuCtxGetCurrent");
    if (context_ == nullptr) throw UnavailableError("CUDA was not initialized on this thread");
    CUdevice device = 0;
    driver_.check(driver_.cuDeviceGet(&device, index), "cuDeviceGet");
    const std::string kernels = kernels_for(architecture_of(device));
    driver_.check(driver_.cuModuleLoadData(&module_, kernels.data()), "cuModuleLoadData");
    find("add_step_all");  // a file that is no module of ours shows here
  }

  void launch(torch::Device device, const Launch& launch, const void* arguments) override {
    TORCH_CHECK(device.index() == index_, "the kernels are for GPU ", index_, ", not for ", device);
    make_current(launch.kernel);
    const CUstream stream = c10::cuda::getCurrentCUDAStream(device.index()).stream();
    void* parameters[] = {const_cast<void*>(arguments)};
    driver_.check_start(
        driver_.cuLaunchKernel(find(launch.kernel), static_cast<unsigned>(launch.blocks),
                               static_cast<unsigned>(launch.tiles), 1,
                               static_cast<unsigned>(launch.threads), 1, 1, 0, stream, parameters,
                               nullptr),
        launch.kernel);
  }

 private:
  int architecture_of(CUdevice device) const {
    int major = 0, minor = 0;
    driver_.check(
        driver_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
        "cuDeviceGetAttribute");
    driver_.check(
        driver_.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
        "cuDeviceGetAttribute");
    return 10 * major + minor;
  }

  // The thread of backward may have no context: CUDA's runtime sets one when it first needs it, but
  // the driver does not.
  void make_current(const std::string& kernel) const {
    CUcontext current = nullptr;
    driver_.check_start(driver_.cuCtxGetCurrent(&current), kernel);
    if (current == context_) return;
    driver_.check_start(driver_.cuCtxSetCurrent(context_), kernel);
  }

  // Forward and backward start kernels on two threads.
  CUfunction find(const std::string& kernel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    CUfunction& function = functions_[kernel];
    if (function == nullptr) {
      driver_.check(driver_.cuModuleGetFunction(&function, module_, kernel.c_str()),
                    "finding kernel " + kernel);
    }
    return function;
  }

  const int index_;
  const Driver driver_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<std::string, CUfunction> functions_;
};

}  // namespace

std::unique_ptr<Launcher> make_cuda_launcher(int index) {
  return std::make_unique<CudaLauncher>(index);
}

}  // namespace tandem::gpu
