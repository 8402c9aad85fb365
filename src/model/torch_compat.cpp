#include "tandem/model/torch_compat.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/profiler_kineto.h>
// Libtorch's CUDA library has NVTX and lends it to libtorch's profiler.
#if __has_include(<torch/csrc/profiler/stubs/base.h>)
#include <torch/csrc/profiler/stubs/base.h>
#define TANDEM_HAS_PROFILER_STUBS
#endif
#if __has_include(<caffe2/core/common.h>)
#include <caffe2/core/common.h>
#define TANDEM_HAS_BUILD_OPTIONS
#else
#include <ATen/Version.h>
#endif

#include <cstdlib>

#include "tandem/model/gpu_ranges.hpp"

namespace tandem::model {

#if TANDEM_LIBTORCH_SINCE(2, 11)
void* current_stream(torch::Device gpu) {
  return c10::impl::VirtualGuardImpl(gpu.type()).getStream(gpu).native_handle();
}
#else
void* current_stream(torch::Device) { return nullptr; }
#endif

void use_deterministic_algorithms() {
  // libtorch before 2.10 refuses cuBLAS without this variable. cuBLAS reads it when it is opened.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
#if TANDEM_LIBTORCH_SINCE(2, 2)
  // It would write to all new memory, against programs that read it before they do.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
#endif
}

// The header's TORCH_VERSION is that of the build; the library lists its own among its build
// options.
#ifdef TANDEM_HAS_BUILD_OPTIONS
std::string torch_version() {
  const auto& options = caffe2::GetBuildOptions();
  const auto found = options.find("TORCH_VERSION");
  return found == options.end() ? TORCH_VERSION : found->second;
}
#else
// show_config() asks for CUDA, which is then absent for good where its library comes later; so it
// is for libtorch without CUDA.
std::string torch_version() {
  const std::string settings = at::show_config();
  const std::string key = "TORCH_VERSION=";
  const std::size_t at = settings.find(key);
  if (at == std::string::npos) return TORCH_VERSION;
  const std::size_t begin = at + key.size();
  return settings.substr(begin, settings.find_first_of(", \n", begin) - begin);
}
#endif

#if TANDEM_LIBTORCH_SINCE(2, 4)
Autocast autocast_on(torch::DeviceType device) {
  return {at::autocast::is_autocast_enabled(device), at::autocast::get_autocast_dtype(device)};
}
void set_autocast_on(torch::DeviceType device, Autocast autocast) {
  at::autocast::set_autocast_enabled(device, autocast.enabled);
  at::autocast::set_autocast_dtype(device, autocast.type);
}
EventTime time_of(const torch::autograd::profiler::KinetoEvent& event) {
  return {static_cast<double>(event.startNs()) / 1e3,
          static_cast<double>(event.durationNs()) / 1e3};
}
#else
Autocast autocast_on(torch::DeviceType device) {
  if (device == torch::kCPU) {
    return {at::autocast::is_cpu_enabled(), at::autocast::get_autocast_cpu_dtype()};
  }
  return {at::autocast::is_enabled(), at::autocast::get_autocast_gpu_dtype()};
}
void set_autocast_on(torch::DeviceType device, Autocast autocast) {
  if (device == torch::kCPU) {
    at::autocast::set_cpu_enabled(autocast.enabled);
    at::autocast::set_autocast_cpu_dtype(autocast.type);
  } else {
    at::autocast::set_enabled(autocast.enabled);
    at::autocast::set_autocast_gpu_dtype(autocast.type);
  }
}
EventTime time_of(const torch::autograd::profiler::KinetoEvent& event) {
  return {static_cast<double>(event.startUs()), static_cast<double>(event.durationUs())};
}
#endif

#ifdef TANDEM_HAS_PROFILER_STUBS
void GpuRanges::enter(const char* name) {
  if (!is_on_) return;
  leave();
  torch::profiler::impl::cudaStubs()->rangePush(name);
  is_within_ = true;
}

void GpuRanges::leave() {
  if (!is_within_) return;
  torch::profiler::impl::cudaStubs()->rangePop();
  is_within_ = false;
}
#else
void GpuRanges::enter(const char* /*name*/) { leave(); }
void GpuRanges::leave() { is_within_ = is_on_ && is_within_; }
#endif

}  // namespace tandem::model
