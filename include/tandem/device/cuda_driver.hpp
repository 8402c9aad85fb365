// The GPUs that this process sees, according to NVIDIA's driver library. Needs neither CUDA's
// headers nor its runtime, so every build can call it. One thread at a time; the library stays
// loaded. Does not throw: "no GPU" is a result.
//
// It calls cuInit() but makes no context, so it takes no GPU memory. A process forked afterwards
// must not use CUDA; the child of data/packed_file.hpp parses a file and ends by _exit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::device {

struct Gpu {
  int index = 0;       // as CUDA counts among what CUDA_VISIBLE_DEVICES leaves
  std::string name;    // "NVIDIA H100 80GB HBM3"
  std::string bus_id;  // "0000:3B:00.0"; slices of one GPU (MIG) have the same
  std::string uuid;    // 32 hexadecimal digits, of the MIG slice if it is one; may be empty
  std::uint64_t memory_bytes = 0;
};

struct GpuView {
  enum class State {
    kSeen,
    kNoDriver,  // the driver library is not on this host, or not in this container
    kNoGpu,     // the driver works and shows none
    kUnusable,  // the driver does not start, or is older than the program needs
    kNotAsked,
  };
  State state = State::kNotAsked;
  std::string reason;      // why there is none
  int driver_version = 0;  // of CUDA, as CUDA counts: 12040 is 12.4; 0: unknown
  std::vector<Gpu> gpus;
};

// `needed_version`: the oldest version of CUDA that the driver must support; 0: any.
GpuView look_for_gpus(int needed_version);

}  // namespace tandem::device
