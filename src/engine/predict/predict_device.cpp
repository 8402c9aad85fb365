#include "predict_device.hpp"

#include "session/cuda_build.hpp"
#include "session/device_choice.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/print.hpp"
#include "tandem/model/cuda.hpp"
#include "tandem/model/gpu_failure.hpp"

namespace tandem::app {

torch::Device open_own_device(const device::DeviceRequest& request) {
  if (request.device == device::DeviceKind::kCpu) return torch::kCPU;
  device::RankGpus rank;
  rank.host = kernel_host_name();
  look_at_gpus(rank);
  const device::GpuDecision decision = device::bind_gpus(request, cuda_of_build(), {rank});
  for (const std::string& warning : decision.warnings) print_warning(warning);
  const device::GpuBinding& binding = decision.bindings.front();
  if (!binding.gpu) return torch::kCPU;
  try {
    model::CudaSettings settings;
    settings.is_deterministic = true;
    settings.opens_kernels = false;
    const torch::Device device = model::open_cuda(binding.gpu->index, settings);
    model::name_gpu(binding.text());
    return device;
  } catch (const UnavailableError& error) {
    if (!device::may_take_cpu(request)) throw;
    print_warning(std::string("--device auto takes the CPU: ") + error.what());
    return torch::kCPU;
  }
}

}  // namespace tandem::app
