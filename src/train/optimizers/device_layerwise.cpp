#include <algorithm>

#include "device_optimizer.hpp"
#include "layerwise_pieces.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/layerwise_optimizers.hpp"

namespace tandem::train {
namespace {

// All that is done element by element is done for the whole array at once, and norms tensor by
// tensor.
class DeviceLayerwise : public CountingOptimizer {
 public:
  DeviceLayerwise(const OptimizerOptions& options, const ParameterArena& arena,
                  std::vector<StateArray> state)
      : CountingOptimizer(options, arena.device(), std::move(state)),
        pieces_(layerwise_pieces_of(arena)) {
    std::vector<std::int32_t> pieces(static_cast<std::size_t>(arena.flat_values().numel()));
    std::vector<float> adapts;
    for (const LayerwisePiece& piece : pieces_) {
      std::fill_n(pieces.begin() + static_cast<std::ptrdiff_t>(piece.first), piece.size,
                  static_cast<std::int32_t>(adapts.size()));
      adapts.push_back(piece.adapts ? 1.0F : 0.0F);
    }
    piece_of_ = torch::tensor(pieces).to(arena.device());
    adapts_ = torch::tensor(adapts).to(arena.device());
    weight_decay_ = spread(adapts_ * options.weight_decay);
  }

 protected:
  // [pieces]
  torch::Tensor norms_of(const torch::Tensor& flat) const {
    std::vector<torch::Tensor> norms;
    for (const LayerwisePiece& piece : pieces_) {
      norms.push_back(flat.narrow(0, static_cast<std::int64_t>(piece.first),
                                  static_cast<std::int64_t>(piece.size))
                          .norm());
    }
    return torch::stack(norms);
  }
  // Values of the pieces, for each element.
  torch::Tensor spread(const torch::Tensor& of_pieces) const {
    return of_pieces.index_select(0, piece_of_);
  }
  // 1 where a piece has no ratio of its own, or a norm is 0.
  torch::Tensor valid(const torch::Tensor& ratios, const torch::Tensor& weight_norms,
                      const torch::Tensor& other_norms) const {
    const torch::Tensor is_valid =
        (adapts_ > 0).logical_and(weight_norms > 0).logical_and(other_norms > 0);
    return torch::where(is_valid, ratios, torch::ones_like(ratios));
  }
  torch::Tensor weight_decay_;  // of each element

 private:
  const std::vector<LayerwisePiece> pieces_;
  torch::Tensor piece_of_;  // int32, of each element; between pieces all values are 0
  torch::Tensor adapts_;    // [pieces]
};

class DeviceLars final : public DeviceLayerwise {
 public:
  DeviceLars(const OptimizerOptions& options, const ParameterArena& arena)
      : DeviceLayerwise(options, arena, {{"velocity", torch::zeros_like(arena.flat_values())}}) {}

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              const torch::Tensor& learning_rate, const torch::Tensor& skipped) override {
    const torch::NoGradGuard no_grad;
    const torch::Tensor weight = norms_of(values);
    const torch::Tensor gradient = norms_of(gradients);
    const torch::Tensor ratios = options_.trust_coefficient * weight /
                                 (gradient + options_.weight_decay * weight + kLarsEpsilon);
    const torch::Tensor change =
        (gradients + weight_decay_ * values) * spread(valid(ratios, weight, gradient));
    const torch::Tensor velocity = array(0) * options_.momentum + change;
    const torch::Tensor direction =
        options_.nesterov ? change + velocity * options_.momentum : velocity;
    write_unless_skipped(array(0), velocity, skipped);
    write_unless_skipped(values, values - direction * learning_rate.to(torch::kFloat32), skipped);
  }
};

class DeviceLamb final : public DeviceLayerwise {
 public:
  DeviceLamb(const OptimizerOptions& options, const ParameterArena& arena)
      : DeviceLayerwise(options, arena,
                        {{"first_moment", torch::zeros_like(arena.flat_values())},
                         {"second_moment", torch::zeros_like(arena.flat_values())}}) {}

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              const torch::Tensor& learning_rate, const torch::Tensor& skipped) override {
    const torch::NoGradGuard no_grad;
    const torch::Tensor first = array(0) + (gradients - array(0)) * (1 - options_.beta1);
    const torch::Tensor second =
        array(1) * options_.beta2 + gradients * gradients * (1 - options_.beta2);
    const torch::Tensor denominator =
        second.sqrt() / correction(options_.beta2).sqrt().to(torch::kFloat32) + options_.epsilon;
    const torch::Tensor direction =
        first / correction(options_.beta1).to(torch::kFloat32) / denominator +
        weight_decay_ * values;
    const torch::Tensor weight = norms_of(values);
    const torch::Tensor length = norms_of(direction);
    const torch::Tensor rates =
        valid(weight / length, weight, length) * learning_rate.to(torch::kFloat32);
    write_unless_skipped(array(0), first, skipped);
    write_unless_skipped(array(1), second, skipped);
    write_unless_skipped(values, values - direction * spread(rates), skipped);
  }

  torch::Tensor correction(double beta) const {
    return 1 - torch::pow(beta, steps_.to(torch::kFloat64));
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_device_layerwise_optimizer(const OptimizerOptions& options,
                                                           const ParameterArena& arena) {
  if (options.name == "lars") return std::make_unique<DeviceLars>(options, arena);
  if (options.name == "lamb") return std::make_unique<DeviceLamb>(options, arena);
  throw InternalError("optimizer " + options.name + " has no trust ratios");
}

}  // namespace tandem::train
