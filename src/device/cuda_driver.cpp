#include "tandem/device/cuda_driver.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>

#include "tandem/comm/gpu_libraries.hpp"

namespace tandem::device {
namespace {

constexpr auto kLibrary = "libcuda.so.1";
constexpr int kSuccess = 0;          // CUDA_SUCCESS
constexpr int kErrorNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

// The part of the driver's interface that is used, whose types are fixed since CUDA 4 (the UUID
// since 11.4): CUresult and CUdevice are ints.
struct Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*version)(int* version) = nullptr;
  int (*error_name)(int error, const char** name) = nullptr;
  int (*count)(int* count) = nullptr;
  int (*device)(int* device, int index) = nullptr;
  int (*name)(char* text, int size, int device) = nullptr;
  int (*bus_id)(char* text, int size, int device) = nullptr;
  int (*memory)(std::size_t* bytes, int device) = nullptr;
  int (*uuid)(unsigned char* sixteen_bytes, int device) = nullptr;  // absent in older drivers
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// False where the library lacks one of those that every driver has.
bool load(void* library, Driver& driver) {
  find(library, "cuDeviceGetUuid_v2", driver.uuid);
  return find(library, "cuInit", driver.init) &&
         find(library, "cuDriverGetVersion", driver.version) &&
         find(library, "cuGetErrorName", driver.error_name) &&
         find(library, "cuDeviceGetCount", driver.count) &&
         find(library, "cuDeviceGet", driver.device) &&
         find(library, "cuDeviceGetName", driver.name) &&
         find(library, "cuDeviceGetPCIBusId", driver.bus_id) &&
         find(library, "cuDeviceTotalMem_v2", driver.memory);
}

GpuView without(GpuView view, GpuView::State state, const std::string& reason) {
  view.state = state;
  view.reason = reason;
  view.gpus.clear();
  return view;
}

GpuView unusable(const GpuView& view, const Driver& driver, const char* call, int error) {
  const char* name = nullptr;
  const bool known = driver.error_name(error, &name) == kSuccess && name != nullptr;
  return without(view, GpuView::State::kUnusable,
                 std::string("the CUDA driver does not work: ") + call + " returned " +
                     std::to_string(error) + (known ? " (" + std::string(name) + ")" : ""));
}

std::string uuid_of(const Driver& driver, int device) {
  std::array<unsigned char, 16> bytes{};
  if (driver.uuid == nullptr || driver.uuid(bytes.data(), device) != kSuccess) return "";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 15U];
  }
  return text;
}

// The first error of the driver, or success.
int describe(const Driver& driver, Gpu& gpu) {
  int device = 0;
  std::array<char, 256> text{};
  const auto size = static_cast<int>(text.size() - 1);
  int error = driver.device(&device, gpu.index);
  if (error == kSuccess) error = driver.name(text.data(), size, device);
  gpu.name = text.data();
  text.fill('\0');
  if (error == kSuccess) error = driver.bus_id(text.data(), size, device);
  gpu.bus_id = text.data();
  std::size_t bytes = 0;
  if (error == kSuccess) error = driver.memory(&bytes, device);
  gpu.memory_bytes = bytes;
  if (error == kSuccess) gpu.uuid = uuid_of(driver, device);
  return error;
}

}  // namespace

GpuView look_for_gpus(int needed_version) {
  GpuView view;
  // Never closed: the driver is not made to be unloaded, and CUDA's runtime takes this same one.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return without(view, GpuView::State::kNoDriver,
                   std::string("no CUDA driver: ") + (why != nullptr ? why : kLibrary));
  }
  Driver driver;
  if (!load(library, driver)) {
    return without(view, GpuView::State::kUnusable,
                   std::string(kLibrary) + " lacks functions of a CUDA driver");
  }
  if (driver.version(&view.driver_version) != kSuccess) view.driver_version = 0;
  // Before the version: on a host without GPU it does not matter how old the driver is.
  int error = driver.init(0);
  int count = 0;
  if (error == kSuccess) error = driver.count(&count);
  if (error == kErrorNoDevice || (error == kSuccess && count == 0)) {
    return without(view, GpuView::State::kNoGpu, "the CUDA driver shows no GPU");
  }
  // Any driver of the same major version serves (CUDA's minor version compatibility).
  if (view.driver_version > 0 && view.driver_version < needed_version / 1000 * 1000) {
    return without(view, GpuView::State::kUnusable,
                   "the CUDA driver is too old: it supports CUDA " +
                       comm::cuda_version_text(view.driver_version) + ", this program needs " +
                       comm::cuda_version_text(needed_version));
  }
  if (error != kSuccess) return unusable(view, driver, "cuInit", error);
  for (int index = 0; index < count; ++index) {
    Gpu gpu;
    gpu.index = index;
    error = describe(driver, gpu);
    if (error != kSuccess) {
      return unusable(view, driver, ("asking for GPU " + std::to_string(index)).c_str(), error);
    }
    view.gpus.push_back(gpu);
  }
  view.state = GpuView::State::kSeen;
  return view;
}

}  // namespace tandem::device
