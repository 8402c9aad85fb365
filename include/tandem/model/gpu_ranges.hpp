// Names the phases of a step for NVIDIA's profilers (NVTX), which show them above the kernels of a
// GPU. Costs some nanoseconds without a profiler, and nothing on other devices. One thread.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

class GpuRanges {
 public:
  explicit GpuRanges(torch::Device device) : is_on_(device.is_cuda()) {}
  ~GpuRanges() { leave(); }
  GpuRanges(const GpuRanges&) = delete;
  GpuRanges& operator=(const GpuRanges&) = delete;

  // Ends the range before it. Ranges of one object may lie within a range of another.
  void enter(const char* name);

 private:
  void leave();

  const bool is_on_;
  bool is_within_ = false;
};

}  // namespace tandem::model
