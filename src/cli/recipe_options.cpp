#include "recipe_options.hpp"

namespace tandem::app {
namespace {

constexpr double kMaxDecay = 0.9999999;

}  // namespace

OptionSpec trust_coefficient_option(const std::string& group) {
  return {"trust-coefficient",
          "X",
          "0.001",
          "lars: factor of each tensor's ratio of weight norm to gradient norm",
          group,
          kOfResult};
}

OptionSpec ema_option(const std::string& group) {
  return {"ema",
          "D",
          "0",
          "decay per step of a moving average of the weights, such as 0.999, which is the model; "
          "0: none",
          group,
          kOfResult};
}

void read_recipe_options(Options& options, train::TrainConfig& config) {
  config.optimizer.trust_coefficient = options.real("trust-coefficient", 0, kMaxReal);
  config.ema = options.real("ema", 0, kMaxDecay);
}

}  // namespace tandem::app
