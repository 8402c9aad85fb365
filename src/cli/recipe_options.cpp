#include "recipe_options.hpp"

namespace tandem::app {
namespace {

constexpr double kMaxDecay = 0.9999999;
constexpr std::uint64_t kMaxEvaluations = 1'000'000;
constexpr double kMinPower = 1e-3;
constexpr double kMaxPower = 100;

}  // namespace

OptionSpec trust_coefficient_option(const std::string& group) {
  return {"trust-coefficient",
          "X",
          "0.001",
          "lars: factor of each tensor's ratio of weight norm to gradient norm",
          group,
          kOfResult};
}

OptionSpec polynomial_power_option(const std::string& group) {
  return {"polynomial-power",
          "X",
          "2",
          "schedule polynomial: power of the share of the run that is left",
          group,
          kOfResult};
}

OptionSpec early_stop_option(const std::string& group) {
  return {"early-stop",
          "N",
          "0",
          "end after N evaluations without a better accuracy, of the validation images if there "
          "are any; 0: never",
          group,
          kOfExecution};
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
  config.schedule.polynomial_power = options.real("polynomial-power", kMinPower, kMaxPower);
  config.early_stop = options.count("early-stop", 0, kMaxEvaluations);
  config.ema = options.real("ema", 0, kMaxDecay);
}

}  // namespace tandem::app
