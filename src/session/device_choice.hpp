// The ranks' common decision on their devices. Main thread. Throws AgreedError (69) if ranks cannot
// have the requested GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job.hpp"
#include "tandem/core/json.hpp"
#include "tandem/device/gpu_binding.hpp"

namespace tandem::app {

struct DeviceChoice {
  device::GpuBinding mine;
  device::Backend backend = device::Backend::kMpi;  // kNccl or kMpi
  std::vector<std::string> devices;                 // on rank 0: of every rank, for people
  std::string note;                                 // on rank 0: why it is the CPU; may be empty
  std::uint64_t free_bytes = 0;                     // of the opened GPU; 0: not known

  void take_cpu();
};

// Collective. Asks the driver of every rank, unless the CPU is asked for; rank 0 decides, and
// warns.
DeviceChoice choose_device(Job& job, const device::DeviceRequest& request);

// Collective. On rank 0 what every rank sees, in rank order; elsewhere empty. `mine`: from
// look_at_gpus().
std::vector<device::RankGpus> gather_gpus(Job& job, const device::RankGpus& mine);
// On rank 0. The devices that `train` takes by default. If it would end because no GPU can be used,
// all ranks get the CPU and the error becomes a warning.
device::GpuDecision decide_by_default(const std::vector<device::RankGpus>& ranks);
// Collective. The GPU that this rank takes by its place. `ranks`: on rank 0, from gather_gpus().
device::GpuBinding gpu_by_place(Job& job, const std::vector<device::RankGpus>& ranks);
// The GPUs that this rank sees, from the driver.
device::RankGpus look_at_gpus(const Job& job);
// The same for a process without MPI, into a rank that has its host's name.
void look_at_gpus(device::RankGpus& rank);
Json gpus_to_json(const std::vector<device::Gpu>& gpus);

}  // namespace tandem::app
