#include "optimizer_options.hpp"

#include "network_options.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr double kMaxDecay = 0.9999999;
constexpr double kMinWeight = 1e-6;
constexpr double kMaxWeight = 1e6;
constexpr double kMinPower = 1e-3;
constexpr double kMaxPower = 100;
constexpr char kGroup[] = "optimizer";

OptionSpec option_of(const std::string& name, const std::string& placeholder,
                     const std::string& default_value, const std::string& help,
                     const UsedWith& used_with = {}) {
  return only_with(used_with, {name, placeholder, default_value, help, kGroup, kOfResult});
}

OptionSpec choice_of(const std::string& name, const std::string& default_value,
                     const std::vector<std::string>& choices) {
  return {name, "NAME", default_value, join(choices, ", "), kGroup, kOfResult, choices};
}

}  // namespace

OptionTable optimizer_options() {
  const UsedWith moments{"optimizer", {"adamw", "lamb"}};
  const UsedWith momenta{"optimizer", {"sgd", "muon", "lars"}};
  const UsedWith muon{"optimizer", {"muon"}};
  const UsedWith steps{"schedule", {"step"}};
  return {
      choice_of("optimizer", "sgd", {"sgd", "adamw", "muon", "lars", "lamb"}),
      option_of("lr", "X", "0.05", "peak learning rate"),
      lr_scale_option(),
      option_of("lr-reference-batch", "N", "0",
                "scale the learning rate by global batch / N; 0: do not scale"),
      option_of("momentum", "X", "0.9", "momentum of sgd, muon and lars", momenta),
      option_of("nesterov", "", "false", "Nesterov momentum, of sgd, muon and lars", momenta),
      option_of("weight-decay", "X", "0",
                "weight decay; lars and lamb: only of parameters of more than one row"),
      option_of("beta1", "X", "0.9", "adamw, lamb: decay rate of the mean gradient", moments),
      option_of("beta2", "X", "0.999", "adamw, lamb: decay rate of the mean squared gradient",
                moments),
      option_of("epsilon", "X", "1e-8", "adamw, lamb: addend of the denominator", moments),
      option_of("trust-coefficient", "X", "0.001",
                "lars: factor of the trust ratio, a tensor's weight norm over its gradient norm",
                {"optimizer", {"lars"}}),
      option_of("head-lr", "X", "0.67",
                "muon: peak learning rate of the last layer, which sgd updates", muon),
      option_of("bias-lr", "X", "0.053",
                "muon: peak learning rate of biases and norms, which sgd updates, too", muon),
      option_of("sgd-momentum", "X", "0.85", "muon: Nesterov momentum of these sgd updates", muon),
      option_of(
          "early-epochs", "X", "0",
          "muon: epochs in which fastnet's whitening bias is trained, at a falling rate; 0: all",
          muon),
      choice_of("schedule", "constant",
                {"constant", "step", "cosine", "linear", "polynomial", "triangle"}),
      option_of("warmup-epochs", "X", "0",
                "linear rise of the learning rate; triangle: up to its peak"),
      option_of("step-epochs", "X", "30", "schedule step: epochs between two drops", steps),
      option_of("step-gamma", "X", "0.1", "schedule step: factor of a drop", steps),
      option_of("polynomial-power", "X", "2",
                "schedule polynomial: power of the share of the run that is left",
                {"schedule", {"polynomial"}}),
      {"loss",
       "mean|sum",
       "mean",
       "loss to minimize: the mean over the global batch, or the sum",
       kGroup,
       kOfResult,
       {"mean", "sum"}},
      option_of("label-smoothing", "X", "0", "share of each label that is spread over all classes"),
      option_of("class-weights", "balanced|W,...", "",
                "weights of the classes in the loss: balanced, by their numbers of images, or one "
                "number for each class"),
      option_of("clip-norm", "X", "0", "limit of the global gradient norm; 0: none"),
      option_of("ema", "D", "0",
                "decay per step of a moving average of the weights, such as 0.999, which is "
                "evaluated and saved; 0: none"),
  };
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

// After the form of the loss.
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

void read_update(Options& options, train::TrainConfig& config) {
  train::OptimizerOptions& optimizer = config.optimizer;
  optimizer.name = options.choice("optimizer");
  optimizer.momentum = options.real("momentum", 0, 1);
  optimizer.nesterov = options.flag("nesterov");
  optimizer.weight_decay = options.real("weight-decay", 0, kMaxReal);
  optimizer.beta1 = options.real("beta1", 0, 0.999999);
  optimizer.beta2 = options.real("beta2", 0, 0.999999);
  optimizer.epsilon = options.real("epsilon", 0, 1);
  optimizer.trust_coefficient = options.real("trust-coefficient", 0, kMaxReal);
  if (optimizer.nesterov && optimizer.momentum == 0) {
    options.add_fault("--nesterov needs a --momentum above 0");
  }
  optimizer.head_rate = options.real("head-lr", 0, kMaxReal);
  optimizer.bias_rate = options.real("bias-lr", 0, kMaxReal);
  optimizer.sgd_momentum = options.real("sgd-momentum", 0, 1);
  config.early_epochs = options.real("early-epochs", 0, kMaxReal);
  config.learning_rate = options.real("lr", 0, kMaxReal);
  if (optimizer.name == "muon" && config.learning_rate == 0) {
    options.add_fault("--optimizer muon needs a --lr above 0");
  }
}

void read_schedule(Options& options, train::TrainConfig& config) {
  config.lr_reference_batch = options.real("lr-reference-batch", 0, kMaxReal);
  config.schedule.name = options.choice("schedule");
  config.schedule.warmup_epochs = options.real("warmup-epochs", 0, kMaxReal);
  config.schedule.step_epochs = options.real("step-epochs", 1e-6, kMaxReal);
  config.schedule.step_gamma = options.real("step-gamma", 0, 1);
  config.schedule.polynomial_power = options.real("polynomial-power", kMinPower, kMaxPower);
}

}  // namespace

void read_optimizer_options(Options& options, train::TrainConfig& config) {
  read_update(options, config);
  read_schedule(options, config);
  config.sums_loss = options.choice("loss") == "sum";
  config.label_smoothing = options.real("label-smoothing", 0, 0.999999);
  config.clip_norm = options.real("clip-norm", 0, kMaxReal);
  read_class_weights(options, config);
  config.ema = options.real("ema", 0, kMaxDecay);
}

}  // namespace tandem::app
