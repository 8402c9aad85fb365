#include "tandem/train/layerwise_optimizers.hpp"

#include <algorithm>
#include <cmath>

#include "host_optimizer.hpp"
#include "layerwise_pieces.hpp"
#include "optimizer_loops.hpp"
#include "tandem/train/host_copy.hpp"
#include "train/parameters/finite.hpp"

namespace tandem::train {
namespace {

double norm_of(const float* values, const LayerwisePiece& piece) {
  return std::sqrt(sum_of_squares({values + piece.first, piece.size}));
}

class Lars final : public HostOptimizer {
 public:
  Lars(const OptimizerOptions& options, const ParameterArena& arena)
      : HostOptimizer(options, {{"velocity", torch::zeros_like(arena.flat_values())}}),
        pieces_(layerwise_pieces_of(arena)) {}

 private:
  void update(const torch::Tensor& all_values, const torch::Tensor& all_gradients,
              double learning_rate) override {
    float* const values = floats_of(all_values).data();
    const float* const gradients = floats_of(all_gradients).data();
    float* const velocity = floats_of(array(0)).data();
    for (const LayerwisePiece& piece : pieces_) {
      LarsFactors factors{};
      factors.learning_rate = static_cast<float>(learning_rate);
      factors.momentum = static_cast<float>(options_.momentum);
      factors.weight_decay = static_cast<float>(piece.adapts ? options_.weight_decay : 0);
      factors.trust_ratio = static_cast<float>(piece.adapts ? ratio(values, gradients, piece) : 1);
      factors.of_change = options_.nesterov ? 1.0F : 0.0F;
      factors.of_velocity = options_.nesterov ? factors.momentum : 1.0F;
      lars(values + piece.first, gradients + piece.first, velocity + piece.first, piece.size,
           factors);
    }
  }

  double ratio(const float* values, const float* gradients, const LayerwisePiece& piece) const {
    const double weight = norm_of(values, piece);
    const double gradient = norm_of(gradients, piece);
    if (weight == 0 || gradient == 0) return 1;
    return options_.trust_coefficient * weight /
           (gradient + options_.weight_decay * weight + kLarsEpsilon);
  }

  const std::vector<LayerwisePiece> pieces_;
};

class Lamb final : public HostOptimizer {
 public:
  Lamb(const OptimizerOptions& options, const ParameterArena& arena)
      : HostOptimizer(options, {{"first_moment", torch::zeros_like(arena.flat_values())},
                                {"second_moment", torch::zeros_like(arena.flat_values())}}),
        pieces_(layerwise_pieces_of(arena)) {
    std::size_t most = 0;
    for (const LayerwisePiece& piece : pieces_) most = std::max(most, piece.size);
    direction_.resize(most);
  }

 private:
  void update(const torch::Tensor& all_values, const torch::Tensor& all_gradients,
              double learning_rate) override {
    float* const values = floats_of(all_values).data();
    const float* const gradients = floats_of(all_gradients).data();
    const auto count = static_cast<double>(steps());
    LambFactors factors{};
    factors.new_first = static_cast<float>(1 - options_.beta1);
    factors.beta2 = static_cast<float>(options_.beta2);
    factors.new_second = static_cast<float>(1 - options_.beta2);
    factors.correction1 = static_cast<float>(1 - std::pow(options_.beta1, count));
    factors.root_of_correction2 =
        static_cast<float>(std::sqrt(1 - std::pow(options_.beta2, count)));
    factors.epsilon = static_cast<float>(options_.epsilon);
    for (const LayerwisePiece& piece : pieces_) {
      factors.weight_decay = static_cast<float>(piece.adapts ? options_.weight_decay : 0);
      float* const value = values + piece.first;
      const LambMoments moments{floats_of(array(0)).data() + piece.first,
                                floats_of(array(1)).data() + piece.first};
      lamb_direction(value, gradients + piece.first, moments, direction_.data(), piece.size,
                     factors);
      const double rate = piece.adapts ? learning_rate * ratio(values, piece) : learning_rate;
      subtract_scaled(value, direction_.data(), piece.size, static_cast<float>(rate));
    }
  }

  double ratio(const float* values, const LayerwisePiece& piece) const {
    const double weight = norm_of(values, piece);
    const double direction = std::sqrt(sum_of_squares({direction_.data(), piece.size}));
    return weight == 0 || direction == 0 ? 1 : weight / direction;
  }

  const std::vector<LayerwisePiece> pieces_;
  std::vector<float> direction_;  // of the piece under way
};

}  // namespace

std::vector<LayerwisePiece> layerwise_pieces_of(const ParameterArena& arena) {
  std::vector<LayerwisePiece> pieces;
  for (const ParameterArena::Slot& slot : arena.slots()) {
    // A single row, such as a class token, is no matrix either.
    const bool adapts = slot.parameter.dim() > 1 && slot.parameter.size(0) > 1;
    pieces.push_back({slot.offset, slot.count, adapts});
  }
  return pieces;
}

bool is_layerwise(const OptimizerOptions& options) {
  return options.name == "lars" || options.name == "lamb";
}

std::unique_ptr<Optimizer> make_layerwise_optimizer(const OptimizerOptions& options,
                                                    const ParameterArena& arena) {
  if (options.name == "lars") return std::make_unique<Lars>(options, arena);
  if (options.name == "lamb") return std::make_unique<Lamb>(options, arena);
  throw InternalError("optimizer " + options.name + " has no trust ratios");
}

}  // namespace tandem::train
