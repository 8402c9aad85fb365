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

// Counts its steps on the device, which alone knows what was left out.
class DeviceOptimizer : public Optimizer {
 public:
  DeviceOptimizer(OptimizerOptions options, torch::Device device)
      : options_(std::move(options)), steps_(torch::zeros({}, device)) {}

  void step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
            const torch::Tensor& skipped) final {
    // A float counts exactly up to 2^24 steps, more than any run here has.
    steps_ += skipped.defined() ? 1 - skipped : torch::ones_like(steps_);
    update(values, gradients, learning_rate,
           skipped.defined() ? std::optional<torch::Tensor>(skipped) : std::nullopt);
  }
  std::uint64_t steps() const final { return static_cast<std::uint64_t>(steps_.item<float>()); }
  void set_steps(std::uint64_t steps) final { steps_.fill_(static_cast<double>(steps)); }

 protected:
  const OptimizerOptions options_;
  torch::Tensor steps_;  // the step under way included

 private:
  virtual void update(const torch::Tensor& values, const torch::Tensor& gradients,
                      double learning_rate, const std::optional<torch::Tensor>& skipped) = 0;
};

class DeviceSgd final : public DeviceOptimizer {
 public:
  DeviceSgd(const OptimizerOptions& options, std::size_t size, torch::Device device)
      : DeviceOptimizer(options, device),
        velocity_(flat_zeros(options.momentum == 0 ? 0 : size, device)) {}

  std::vector<StateArray> state() override {
    if (options_.momentum == 0) return {};
    return {{"velocity", velocity_}};
  }

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
              const std::optional<torch::Tensor>& skipped) override {
    std::vector<torch::Tensor> velocities;
    if (options_.momentum != 0) velocities.push_back(velocity_);
    at::_fused_sgd_({values}, {gradients}, velocities, options_.weight_decay, options_.momentum,
                    learning_rate, /*dampening=*/0, options_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/false, /*grad_scale=*/{}, skipped);
  }

  const torch::Tensor velocity_;  // zero at first, as in optimizer.cpp
};

class DeviceAdamW final : public DeviceOptimizer {
 public:
  DeviceAdamW(const OptimizerOptions& options, std::size_t size, torch::Device device)
      : DeviceOptimizer(options, device),
        first_(flat_zeros(size, device)),
        second_(flat_zeros(size, device)) {}

  std::vector<StateArray> state() override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
              const std::optional<torch::Tensor>& skipped) override {
    at::_fused_adamw_({values}, {gradients}, {first_}, {second_}, {}, {steps_}, learning_rate,
                      options_.beta1, options_.beta2, options_.weight_decay, options_.epsilon,
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
  throw UnavailableError(
      "this libtorch is older than 2.4 and has no fused optimizers, which a GPU needs; build "
      "against a newer one: make -f Makefile.hpc build LIBTORCH=wheel");
}
#endif

}  // namespace tandem::train
