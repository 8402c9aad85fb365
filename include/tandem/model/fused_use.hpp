// Whether layers and steps are computed by the operators of fused_operators.hpp.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model::fused {

// Where the operators have kernels for the device. On CPUs tandem's own kernels compute, so there
// only if a test asks for it.
bool is_used_on(torch::DeviceType device);

// For tests: on CPUs too, while this lives.
class UseOnCpu {
 public:
  UseOnCpu();
  ~UseOnCpu();
  UseOnCpu(const UseOnCpu&) = delete;
  UseOnCpu& operator=(const UseOnCpu&) = delete;
};

}  // namespace tandem::model::fused
