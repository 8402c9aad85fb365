// The functions of CUDA's runtime and of NCCL that comm calls, as pointers. Only comm includes the
// headers of both libraries. Members are called like the functions; a test fills them with a
// stand-in. load_gpu_api() throws UnavailableError. The libraries stay loaded until the process
// ends, because they have threads of their own.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>
#include <string>

#include "tandem/core/error.hpp"

#define TANDEM_CUDA_FUNCTIONS(each)                                                               \
  each(cudaGetErrorString) each(cudaGetLastError) each(cudaRuntimeGetVersion) each(cudaSetDevice) \
      each(cudaDeviceGetStreamPriorityRange) each(cudaStreamCreateWithPriority)                   \
          each(cudaStreamDestroy) each(cudaStreamWaitEvent) each(cudaEventCreateWithFlags)        \
              each(cudaEventRecord) each(cudaEventQuery) each(cudaEventDestroy)

#define TANDEM_NCCL_FUNCTIONS(each)                                                          \
  each(ncclGetErrorString) each(ncclGetLastError) each(ncclGetVersion) each(ncclGetUniqueId) \
      each(ncclCommInitRankConfig) each(ncclCommGetAsyncError) each(ncclCommDestroy)         \
          each(ncclCommAbort) each(ncclAllReduce)

namespace tandem::comm {

struct GpuApi {
#define TANDEM_MEMBER(name) decltype(&::name) name = nullptr;
  TANDEM_CUDA_FUNCTIONS(TANDEM_MEMBER)
  TANDEM_NCCL_FUNCTIONS(TANDEM_MEMBER)
#undef TANDEM_MEMBER
};

// Opens both libraries, found along the program's run paths or by the system.
std::shared_ptr<const GpuApi> load_gpu_api();

// "libcudart.so.13"
std::string cuda_library_name();

// As NCCL counts: 22809 is "2.28.9".
std::string nccl_version_text(int number);

// The call, the library's words and what to do.
std::string describe_failure(const GpuApi& api, cudaError_t result, const char* call);
std::string describe_failure(const GpuApi& api, ncclComm_t comm, ncclResult_t result,
                             const char* call);

template <typename Failure = InternalError>
void check_cuda(const GpuApi& api, cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw Failure(describe_failure(api, result, call));
}
template <typename Failure = InternalError>
void check_nccl(const GpuApi& api, ncclComm_t comm, ncclResult_t result, const char* call) {
  if (result != ncclSuccess) throw Failure(describe_failure(api, comm, result, call));
}

}  // namespace tandem::comm
