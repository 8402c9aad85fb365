// Decides which GPU each rank uses and what transports gradients, from the request and from the
// GPUs that each rank sees. A pure function of plain values, without driver or communication.
// parse_gpu_ids() throws UsageError, bind_gpus() UnavailableError.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/device/cuda_driver.hpp"

namespace tandem::device {

enum class DeviceKind { kAuto, kCpu, kCuda };
enum class Backend { kAuto, kNccl, kMpi };

struct DeviceRequest {
  DeviceKind device = DeviceKind::kAuto;
  Backend backend = Backend::kAuto;
  std::vector<int> gpu_ids;  // by local rank; empty: not given
  bool share_gpu = false;    // several ranks may use one GPU
};

// "1,6,3", each 0 or more; an empty text is an empty list.
std::vector<int> parse_gpu_ids(const std::string& text);
// The contradictions within the request, one sentence each.
std::vector<std::string> contradictions(const DeviceRequest& request);

// Whether ranks may fall back to the CPU if there are not enough GPUs.
bool may_take_cpu(const DeviceRequest& request);

// A rank and the GPUs that it sees.
struct RankGpus {
  int rank = 0;
  std::string host;
  int local_rank = 0;  // among the ranks of this host
  int local_size = 1;
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES, where it is set
  GpuView view;
};

struct GpuBinding {
  std::optional<Gpu> gpu;    // none: this rank computes on the CPU
  std::string text() const;  // "cpu", "cuda:1 NVIDIA H100 0000:3B:00.0"
};

// The GPU that each rank takes by its place alone, also if another rank takes the same; none for a
// rank that sees too few.
std::vector<GpuBinding> gpus_by_place(const std::vector<RankGpus>& ranks);

struct GpuDecision {
  std::vector<GpuBinding> bindings;  // of every rank: all on GPUs, or all on the CPU
  Backend backend = Backend::kMpi;   // kNccl or kMpi
  std::vector<std::string> warnings;
  std::string note;  // why the CPU is used, if that is no error; may be empty
};

// For a request without contradictions. A rank that sees one GPU takes it; otherwise its local rank
// or --gpu-ids selects. `built_for`: the version of CUDA that the program was built for, 0: without
// CUDA. `ranks`: all, in rank order. Only --device auto falls back to the CPU, on all ranks, if
// there are not enough GPUs; --gpu-ids, --share-gpu and --backend nccl require GPUs as --device
// cuda does.
GpuDecision bind_gpus(const DeviceRequest& request, int built_for,
                      const std::vector<RankGpus>& ranks);

}  // namespace tandem::device
