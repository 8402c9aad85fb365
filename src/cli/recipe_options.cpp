#include "recipe_options.hpp"

#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr double kMaxDecay = 0.9999999;
constexpr std::uint64_t kMaxEvaluations = 1'000'000;
constexpr double kMinWeight = 1e-6;
constexpr double kMaxWeight = 1e6;
constexpr double kMinPower = 1e-3;
constexpr double kMaxPower = 100;

}  // namespace

OptionSpec trust_coefficient_option(const std::string& group) {
  return {"trust-coefficient",
          "X",
          "0.001",
          "lars: factor of the trust ratio, a tensor's weight norm over its gradient norm",
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
          "end after N evaluations in a row without a better accuracy, of the validation images "
          "if there are any; 0: never",
          group,
          kOfExecution};
}

OptionSpec class_weights_option(const std::string& group) {
  return {"class-weights",
          "balanced|W,...",
          "",
          "weights of the classes in the loss: balanced, by their numbers of images, or one number "
          "for each class",
          group,
          kOfResult};
}

OptionSpec ema_option(const std::string& group) {
  return {"ema",
          "D",
          "0",
          "decay per step of a moving average of the weights, such as 0.999, which is evaluated "
          "and saved; 0: none",
          group,
          kOfResult};
}

namespace {

std::vector<double> parse_class_weights(const std::string& text) {
  std::vector<double> weights;
  try {
    for (const std::string& each : split(text, ',')) {
      weights.push_back(parse_real(each, kMinWeight, kMaxWeight, ""));
    }
  } catch (const UsageError&) {
    throw UsageError("--class-weights: '" + text +
                     "' is neither balanced nor a list of numbers from " + format_real(kMinWeight) +
                     " to " + format_real(kMaxWeight) +
                     ", one for each class in their order, such as 1,1,2.5");
  }
  return weights;
}

void read_class_weights(Options& options, train::TrainConfig& config) {
  if (!options.is_set("class-weights")) return;
  config.has_balanced_classes = options.text("class-weights") == "balanced";
  if (!config.has_balanced_classes) {
    config.class_weights = options.parsed("class-weights", parse_class_weights);
  }
  if (config.augment.mixes()) {
    options.add_fault(
        "--class-weights and --augment with mixup or cutmix exclude each other: a mixed image has "
        "two classes and so no class weight; leave one of them out");
  }
  if (!config.sums_loss) return;
  options.add_fault(
      "--class-weights and --loss sum exclude each other: the weighted loss is a mean; give --loss "
      "mean");
}

// Adds a fault if the command line of a new run gives an option that is for one value of another
// option, which has a different value. A config file of a run has all options, and a run of an
// earlier version may go on.
void require_use(Options& options, const std::string& name, const std::string& other,
                 const std::string& value) {
  const std::string& found = options.text(other);
  if (found == value || options.value(name).origin != Origin::kCommandLine) return;
  if (options.text("resume") != "none") return;
  options.add_fault("--" + name + " is for --" + other + " " + value + ", and --" + other + " is " +
                    found + "; leave it out, or give --" + other + " " + value);
}

}  // namespace

void read_recipe_options(Options& options, train::TrainConfig& config) {
  config.optimizer.trust_coefficient = options.real("trust-coefficient", 0, kMaxReal);
  require_use(options, "trust-coefficient", "optimizer", "lars");
  config.schedule.polynomial_power = options.real("polynomial-power", kMinPower, kMaxPower);
  require_use(options, "polynomial-power", "schedule", "polynomial");
  config.early_stop = options.count("early-stop", 0, kMaxEvaluations);
  read_class_weights(options, config);
  config.ema = options.real("ema", 0, kMaxDecay);
}

}  // namespace tandem::app
