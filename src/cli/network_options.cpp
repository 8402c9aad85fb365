#include "network_options.hpp"

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/hidden_widths.hpp"
#include "tandem/model/network_names.hpp"
#include "tandem/model/stem.hpp"

namespace tandem::app {
namespace {

std::vector<std::string> parse_patterns(const std::string& text) {
  std::vector<std::string> patterns = split(text, ',');
  for (const std::string& each : patterns) {
    if (!each.empty() && each == trim(each)) continue;
    throw UsageError("--freeze: '" + text +
                     "' is not a list of patterns, expected names such as conv1.*,layer1.*");
  }
  return patterns;
}

std::vector<train::RateScale> parse_rate_scales(const std::string& text) {
  std::vector<train::RateScale> scales;
  for (const std::string& each : split(text, ',')) {
    const std::size_t sign = each.rfind('=');
    if (sign == std::string::npos || sign == 0 || each != trim(each)) {
      throw UsageError(
          "--lr-scale: '" + each +
          "' is not a pattern and its factor, expected PATTERN=FACTOR such as layer1.*=0.1");
    }
    scales.push_back(
        {each.substr(0, sign), parse_real(each.substr(sign + 1), 0, kMaxReal, "--lr-scale")});
  }
  return scales;
}

// mlp's default widths become empty, so that a run with --hidden 512,512 equals one without it.
void read_hidden(Options& options, train::TrainConfig& config) {
  if (!options.is_set("hidden")) return;
  const std::string model = options.text("model");
  if (model != model::kNetworkWithHiddenLayers) {
    if (options.value("hidden").origin > Origin::kRecipe) {
      options.add_fault("--hidden is for --model " + std::string(model::kNetworkWithHiddenLayers) +
                        ", and --model is " + model + "; leave it out, or give --model " +
                        model::kNetworkWithHiddenLayers);
    }
    options.resolve("hidden", "");
    return;
  }
  config.hidden = options.parsed("hidden", model::parse_hidden_widths);
  if (config.hidden == model::default_hidden_widths()) config.hidden.clear();
  options.resolve("hidden", model::hidden_widths_text(config.hidden));
}

void read_stem(Options& options, train::TrainConfig& config) {
  config.stem = model::parse_stem(options.choice("stem"));
  if (config.stem == model::Stem::kCifar || model::has_stem(options.text("model"))) return;
  if (options.value("stem").origin > Origin::kRecipe) {
    options.add_fault("--stem imagenet is for resnet18, resnet34 and resnet50, and --model is " +
                      options.text("model") + "; leave it out, or give --model resnet18");
  }
  config.stem = model::Stem::kCifar;
  options.resolve("stem", model::name_of(config.stem));
}

void read_layers(Options& options, train::TrainConfig& config) {
  const bool is_script = model::is_script_file(options.text("model"));
  if (options.is_set("freeze")) config.frozen = options.parsed("freeze", parse_patterns);
  if (is_script && !config.frozen.empty()) {
    options.add_fault(
        "--freeze is for tandem's networks; in Python, call requires_grad_(False) on the "
        "parameters before --model " +
        options.text("model") + " is exported");
  }
  if (!options.is_set("lr-scale")) return;
  config.rate_scales = options.parsed("lr-scale", parse_rate_scales);
  if (options.text("optimizer") == "muon") {
    options.add_fault(
        "--lr-scale and --optimizer muon exclude each other: muon scales each update itself, and "
        "has --head-lr and --bias-lr; give another optimizer");
  }
}

}  // namespace

OptionSpec model_option() {
  const std::string models =
      join(model::network_names(), ", ") + ", or a TorchScript file that Python exported";
  return {"model",   "NAME|FILE.pt",        "simple", models, "what to train",
          kOfResult, model::network_names()};
}

OptionSpec hidden_option() {
  return {"hidden",
          "N[,N]",
          "",
          "widths of the hidden layers of mlp, such as 100; if not given: " +
              model::hidden_widths_text(model::default_hidden_widths()),
          "what to train",
          kOfResult};
}

OptionSpec stem_option() {
  return {"stem",
          "NAME",
          "cifar",
          "first layers of resnet18, resnet34 and resnet50: cifar, for images of about 32 pixels; "
          "or imagenet, as in torchvision",
          "what to train",
          kOfResult,
          model::stem_names()};
}

OptionSpec init_from_option() {
  return {"init-from",
          "FILE",
          "",
          "start from the weights of a checkpoint or another .safetensors, for fine-tuning",
          "what to train",
          kOfExecution};
}

OptionSpec freeze_option() {
  OptionSpec spec{"freeze",
                  "LIST",
                  "",
                  "parameters that are not trained: patterns such as conv1.*,layer1.*",
                  "what to train",
                  kOfResult};
  spec.repetition = Repetition::kJoins;
  return spec;
}

OptionSpec lr_scale_option() {
  OptionSpec spec{"lr-scale",
                  "LIST",
                  "",
                  "factors of the learning rate: pattern=factor, such as *=0.1,fc.*=1; the last "
                  "pattern that fits counts",
                  "optimizer",
                  kOfResult};
  spec.repetition = Repetition::kJoins;
  return spec;
}

OptionSpec gradient_checkpointing_option() {
  return {"gradient-checkpointing",
          "",
          "false",
          "keep only the inputs of a network's blocks, and recompute each block in backward",
          "execution",
          kOfExecution};
}

void read_gradient_checkpointing(Options& options, train::TrainConfig& config) {
  config.gradient_checkpointing = options.flag("gradient-checkpointing");
  if (!config.gradient_checkpointing || model::has_blocks(config.model)) return;
  options.add_fault("--gradient-checkpointing is for " + join(model::networks_with_blocks(), ", ") +
                    ", and --model is " + config.model +
                    "; leave it out, or make batches smaller with --accumulate");
}

OptionSpec sync_bn_option() {
  return {"sync-bn",   "",       "false", "normalize over the images of all ranks, on CPUs",
          "execution", kOfResult};
}

void read_network_options(Options& options, train::TrainConfig& config) {
  const std::string asked = options.text("model");
  const bool is_file = model::is_script_file(asked);
  config.model = is_file ? asked : options.choice("model");
  // Code from elsewhere may take a tensor's rows for granted, as x.view(n, -1) does.
  if (is_file && options.value("channels-last").origin == Origin::kDefault) {
    options.resolve("channels-last", "false");
  }
  config.channels_last = options.flag("channels-last");
  read_hidden(options, config);
  read_stem(options, config);
  read_layers(options, config);
  read_gradient_checkpointing(options, config);
  config.init_from = options.text("init-from");
  if (ends_with(config.init_from, ".pth") || ends_with(config.init_from, ".pt")) {
    options.add_fault("--init-from: '" + config.init_from +
                      "' is a pickle, which can run code and is not read; convert it by "
                      "python/to_safetensors.py " +
                      config.init_from + (is_file ? "" : " --model " + asked) +
                      " --output FILE.safetensors" +
                      (ends_with(config.init_from, ".pt")
                           ? "; a TorchScript file is trained on by --model " + config.init_from
                           : ""));
  }
}

}  // namespace tandem::app
