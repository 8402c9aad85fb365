// The parts of a run's setup on which sums depend, and the note if a resumed run changes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tandem::app {

struct ComputeSetup {
  int ranks = 1;
  int threads = 1;      // of rank 0
  std::string device;   // "cpu", "cuda"
  std::string backend;  // "mpi", "nccl"
  bool are_virtual = false;
  std::string algorithm = "flat";      // of sums: "flat", "two-level", "mpi"
  std::string gradients = "fp32";      // as they travel: "fp32", "bf16"
  std::string convolution = "direct";  // --convolution

  // The fields in a checkpoint's metadata.
  std::map<std::string, std::string> to_metadata() const;
};

// "1 rank then, 2 now: …", and whether that changes bits; "" without changes. `metadata` is a
// checkpoint's; fields that an older one lacks count as unchanged.
std::string describe_change(const std::map<std::string, std::string>& metadata,
                            const ComputeSetup& now, std::uint64_t global_batch);

}  // namespace tandem::app
