#include "gpu_api.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

constexpr const char* kNcclLibrary = "libnccl.so.2";

void* open_library(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw UnavailableError(name + " cannot be opened: " + dlerror() +
                         "; this program was built for " + gpu_libraries_built() +
                         ": install that, or name its folder in LD_LIBRARY_PATH");
}

template <typename Function>
void find(void* library, const std::string& library_name, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return;
  throw UnavailableError(library_name + " has no function " + name +
                         "; this program was built for " + gpu_libraries_built() +
                         ", and needs that or a later one");
}

}  // namespace

std::string nccl_version_text(int number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

void set_nccl_defaults() {
  // NCCL would connect what an algorithm needs when a collective first takes it: in the midst of a
  // step, without a deadline, and without naming the peer that is out of reach.
  ::setenv("NCCL_RUNTIME_CONNECT", "0", /*overwrite=*/0);
  // NCCL would register the buffers of recorded collectives, with the other ranks of the host. They
  // would hang where one of them does not record a step that the others record.
  ::setenv("NCCL_GRAPH_REGISTER", "0", /*overwrite=*/0);
}

std::string cuda_library_name() {
  constexpr int kMajor = CUDART_VERSION / 1000;
  return "libcudart.so." + std::to_string(kMajor) + (kMajor < 12 ? ".0" : "");
}

int cuda_version_built() { return CUDART_VERSION; }

std::shared_ptr<const GpuApi> load_gpu_api() {
  auto api = std::make_shared<GpuApi>();
  const std::string cuda_name = cuda_library_name();
  void* cuda = open_library(cuda_name);
  void* nccl = open_library(kNcclLibrary);
#define TANDEM_FIND(name) find(cuda, cuda_name, #name, api->name);
  TANDEM_CUDA_FUNCTIONS(TANDEM_FIND)
#undef TANDEM_FIND
#define TANDEM_FIND(name) find(nccl, kNcclLibrary, #name, api->name);
  TANDEM_NCCL_FUNCTIONS(TANDEM_FIND)
#undef TANDEM_FIND
  return api;
}

std::string describe_failure(const GpuApi& api, cudaError_t result, const char* call) {
  return std::string(call) + " failed: " + api.cudaGetErrorString(result) + " (CUDA error " +
         std::to_string(result) + ")";
}

std::string describe_failure(const GpuApi& api, ncclComm_t comm, ncclResult_t result,
                             const char* call) {
  const char* last_error = api.ncclGetLastError(comm);
  const std::string details = trim(last_error == nullptr ? "" : last_error);
  return std::string(call) + " failed: " + api.ncclGetErrorString(result) +
         (details.empty() ? "" : " (" + details + ")") +
         "; another rank may have printed the reason; NCCL_DEBUG=WARN prints more";
}

std::string gpu_libraries_built() {
  return "CUDA " + cuda_version_text(CUDART_VERSION) + ", NCCL " +
         nccl_version_text(NCCL_VERSION_CODE);
}

std::vector<std::string> gpu_library_names() {
  return {"libcuda.so.1", cuda_library_name(), kNcclLibrary, "libnvidia-ml.so.1"};
}

std::string gpu_libraries_found() {
  try {
    const auto api = load_gpu_api();
    int runtime = 0;
    int nccl = 0;
    check_cuda(*api, api->cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    check_nccl(*api, nullptr, api->ncclGetVersion(&nccl), "ncclGetVersion");
    return "CUDA " + cuda_version_text(runtime) + ", NCCL " + nccl_version_text(nccl);
  } catch (const Error& error) {
    return error.what();  // as a finding
  }
}

}  // namespace tandem::comm
