#include "device_optimizer.hpp"

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

class DeviceSgd final : public CountingOptimizer {
 public:
  DeviceSgd(const OptimizerOptions& options, std::size_t size, torch::Device device)
      : CountingOptimizer(options, device),
        velocity_(flat_zeros(options.momentum == 0 ? 0 : size, device)) {}

  std::vector<StateArray> state() override {
    if (options_.momentum == 0) return {};
    return {{"velocity", velocity_}};
  }

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              const torch::Tensor& learning_rate,
              const std::optional<torch::Tensor>& skipped) override {
    std::vector<torch::Tensor> velocities;
    if (options_.momentum != 0) velocities.push_back(velocity_);
    at::_fused_sgd_({values}, {gradients}, velocities, options_.weight_decay, options_.momentum,
                    rate_for_kernel(learning_rate), /*dampening=*/0, options_.nesterov,
                    /*maximize=*/false,
                    /*is_first_step=*/false, /*grad_scale=*/{}, skipped);
  }

  const torch::Tensor velocity_;  // zero at first, as in optimizer.cpp
};

class DeviceAdamW final : public CountingOptimizer {
 public:
  DeviceAdamW(const OptimizerOptions& options, std::size_t size, torch::Device device)
      : CountingOptimizer(options, device),
        first_(flat_zeros(size, device)),
        second_(flat_zeros(size, device)) {}

  std::vector<StateArray> state() override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              const torch::Tensor& learning_rate,
              const std::optional<torch::Tensor>& skipped) override {
    at::_fused_adamw_({values}, {gradients}, {first_}, {second_}, {}, {steps_},
                      rate_for_kernel(learning_rate), options_.beta1, options_.beta2,
                      options_.weight_decay, options_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{}, skipped);
  }

  const torch::Tensor first_;
  const torch::Tensor second_;
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
