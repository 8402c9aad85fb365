#include "recipe_options.hpp"

namespace tandem::app {
namespace {

constexpr double kMaxDecay = 0.9999999;

}  // namespace

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
  config.ema = options.real("ema", 0, kMaxDecay);
}

}  // namespace tandem::app
