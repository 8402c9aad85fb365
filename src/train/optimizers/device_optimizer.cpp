#include "device_optimizer.hpp"

#include <optional>

#include "tandem/core/error.hpp"
#include "tandem/model/torch_compat.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/optimizer.hpp"

#if TANDEM_LIBTORCH_SINCE(2, 4)
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#endif

namespace tandem::train {

#if TANDEM_LIBTORCH_SINCE(2, 4)
namespace {

// CUDA's kernels read a float.
torch::Tensor rate_for_kernel(const torch::Tensor& rate) {
  return rate.is_cpu() ? rate : rate.to(torch::kFloat32);
}

std::optional<torch::Tensor> present(const torch::Tensor& tensor) {
  return tensor.defined() ? std::make_optional(tensor) : std::nullopt;
}

class DeviceSgd final : public CountingOptimizer {
 public:
  DeviceSgd(const OptimizerOptions& options, std::size_t size, torch::Device device)
      : CountingOptimizer(options, device,
                          options.momentum == 0
                              ? std::vector<StateArray>()
                              : std::vector<StateArray>{{"velocity", flat_zeros(size, device)}}) {}

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              const torch::Tensor& learning_rate, const torch::Tensor& skipped) override {
    std::vector<torch::Tensor> velocities;  // zero at first, as in optimizer.cpp
    if (options_.momentum != 0) velocities.push_back(array(0));
    at::_fused_sgd_({values}, {gradients}, velocities, options_.weight_decay, options_.momentum,
                    rate_for_kernel(learning_rate), /*dampening=*/0, options_.nesterov,
                    /*maximize=*/false,
                    /*is_first_step=*/false, /*grad_scale=*/{}, present(skipped));
  }
};

class DeviceAdamW final : public CountingOptimizer {
 public:
  DeviceAdamW(const OptimizerOptions& options, std::size_t size, torch::Device device)
      : CountingOptimizer(options, device,
                          {{"first_moment", flat_zeros(size, device)},
                           {"second_moment", flat_zeros(size, device)}}) {}

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              const torch::Tensor& learning_rate, const torch::Tensor& skipped) override {
    at::_fused_adamw_({values}, {gradients}, {array(0)}, {array(1)}, {}, {steps_},
                      rate_for_kernel(learning_rate), options_.beta1, options_.beta2,
                      options_.weight_decay, options_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{}, present(skipped));
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_device_optimizer(const OptimizerOptions& options, std::size_t size,
                                                 torch::Device device) {
  if (options.name == "sgd") return std::make_unique<DeviceSgd>(options, size, device);
  if (options.name == "adamw") return std::make_unique<DeviceAdamW>(options, size, device);
  throw InternalError("optimizer " + options.name + " was not refused with the options");
}
#else
std::unique_ptr<Optimizer> make_device_optimizer(const OptimizerOptions&, std::size_t,
                                                 torch::Device) {
  throw UnavailableError(kNoFusedOptimizers);
}
#endif

}  // namespace tandem::train
