#include "device_options.hpp"

namespace tandem::app {
namespace {

constexpr double kLongestTimeout = 86'400;

device::DeviceKind to_device(const std::string& name) {
  if (name == "cpu") return device::DeviceKind::kCpu;
  return name == "cuda" ? device::DeviceKind::kCuda : device::DeviceKind::kAuto;
}

device::Backend to_backend(const std::string& name) {
  if (name == "nccl") return device::Backend::kNccl;
  return name == "mpi" ? device::Backend::kMpi : device::Backend::kAuto;
}

}  // namespace

OptionSpec device_option() {
  return {"device",
          "NAME",
          "auto",
          "auto (GPUs where there is one for each rank), cpu or cuda",
          "execution",
          kOfExecution,
          {"auto", "cpu", "cuda"}};
}

OptionSpec gpu_ids_option() {
  return {
      "gpu-ids",   "LIST",
      "",          "GPUs of a host's ranks, such as 1,6,3, counted from 0 among the visible ones",
      "execution", kOfPlacement};
}

OptionSpec share_gpu_option() {
  return {"share-gpu", "",
          "false",     "several ranks may use one GPU; gradients then travel by MPI",
          "execution", kOfPlacement};
}

OptionSpec backend_option() {
  return {"backend",
          "NAME",
          "auto",
          "what carries gradients: nccl (auto: with GPUs) or mpi (auto: else)",
          "execution",
          kOfExecution,
          {"auto", "nccl", "mpi"}};
}

OptionSpec init_timeout_option() {
  return {"init-timeout", "S",         "60", "seconds that NCCL may take to connect the ranks",
          "execution",    kOfPlacement};
}

DeviceOptions read_device_options(Options& options) {
  DeviceOptions device;
  device::DeviceRequest& request = device.request;
  request.device = to_device(options.choice("device"));
  request.gpu_ids = options.parsed("gpu-ids", device::parse_gpu_ids);
  request.share_gpu = has_option(options.table(), "share-gpu") && options.flag("share-gpu");
  if (has_option(options.table(), "backend")) {
    request.backend = to_backend(options.choice("backend"));
    device.init_timeout_seconds = options.real("init-timeout", 1, kLongestTimeout);
  }
  for (const std::string& fault : device::contradictions(request)) options.add_fault(fault);
  return device;
}

}  // namespace tandem::app
