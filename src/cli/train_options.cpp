#include "train_options.hpp"

#include <utility>

#include "execution_options.hpp"
#include "loader_options.hpp"
#include "network_options.hpp"
#include "optimizer_options.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxEvaluations = 1'000'000;

void read_batch(Options& options, train::TrainConfig& config) {
  const bool both = options.is_set("global-batch-size") && options.is_set("batch-size") &&
                    options.value("global-batch-size").origin == options.value("batch-size").origin;
  if (both) {
    options.add_fault(
        "--batch-size (images per rank) and --global-batch-size (images over all ranks) exclude "
        "each other; give one");
  }
  if (unused_batch_option(options) == "batch-size") {
    config.global_batch_size = options.count("global-batch-size", 1, kMaxImagesPerBatch);
  } else {
    config.batch_size = options.count("batch-size", 1, kMaxImagesPerBatch);
  }
  config.accumulate = options.count("accumulate", 1, 65536);
  config.drop_last = options.flag("drop-last");
  config.virtual_ranks = options.count("virtual-ranks", 0, 65536);
  if ((config.virtual_ranks & (config.virtual_ranks - 1)) != 0 && config.virtual_ranks != 0) {
    options.add_fault("--virtual-ranks: " + std::to_string(config.virtual_ranks) +
                      " is not a power of two");
  }
  if (config.virtual_ranks > 0 && config.accumulate > 1) {
    options.add_fault(
        "--virtual-ranks and --accumulate exclude each other: the shards are the "
        "accumulation");
  }
}

void refuse_other_bits(Options& options) {
  for (const OptionSpec& spec : options.table()) {
    const OtherBits& other = spec.other_bits;
    if (other.value.empty() || options.text(spec.name) != other.value) continue;
    options.add_fault("--deterministic and --" + spec.name + " " + other.value +
                      " exclude each other: " + other.reason);
  }
}

// Only options that the user gave conflict; those of a recipe apply if there are evaluations.
void refuse_without_evaluations(Options& options, const TrainRequest& request) {
  if (options.text("eval-every") != "0") return;
  const std::pair<const char*, bool> needs[] = {
      {"tta", request.reporting.views},
      {"save-best", request.checkpoint_policy.save_best},
      {"early-stop", request.config.early_stop > 0},
      {"validation-split", request.config.validation_split > 0}};
  for (const auto& [name, is_on] : needs) {
    if (!is_on || options.value(name).origin <= Origin::kRecipe) continue;
    options.add_fault("--" + std::string(name) +
                      " and --eval-every 0 exclude each other: nothing would be evaluated");
  }
}

// Adds a fault for each value that config.ini cannot keep. Replaces the value, so that no other
// check reports it.
void refuse_unkeepable(Options& options) {
  const auto is_broken = [](const std::string& value) {
    return value.find_first_of("#\n") != std::string::npos;
  };
  for (const OptionSpec& spec : options.table()) {
    const std::string value = options.text(spec.name);
    if (value == trim(value) && !is_broken(value)) continue;
    options.add_fault("--" + spec.name + ": '" + value +
                          "' has a '#', a line break or a blank at an end, which config.ini cannot "
                          "keep; rename it" +
                          options.where_from(spec.name),
                      spec.name);
    const std::string kept = trim(value);
    options.resolve(spec.name, kept.empty() || is_broken(kept) ? spec.default_value : kept);
  }
}

}  // namespace

TrainRequest read_train_options(Options& options) {
  TrainRequest request;
  train::TrainConfig& config = request.config;
  refuse_unkeepable(options);
  options.require("data");
  config.data = options.text("data");
  read_network_options(options, config);
  config.seed = options.count("seed", 0, std::uint64_t{1} << 62);
  config.validation_split = options.real("validation-split", 0, 0.999999);
  config.augment = options.parsed("augment", data::AugmentSpec::parse);
  config.decoding = read_decoding(options);
  config.eval_fit = read_eval_crop(options);
  config.epochs = options.real("epochs", 1e-6, 1e6);
  config.max_steps = options.count("max-steps", 0, std::uint64_t{1} << 40);
  config.early_stop = options.count("early-stop", 0, kMaxEvaluations);
  read_batch(options, config);
  read_reading_options(options, config.reading);
  if (options.flag("plan")) config.reading.stage.clear();  // a few steps are not worth a copy
  read_optimizer_options(options, config);
  request.device = read_execution_options(options, config);
  config.deterministic = options.flag("deterministic");
  if (config.deterministic) refuse_other_bits(options);
  config.eval_every = options.count("eval-every", 0, std::uint64_t{1} << 40);
  config.log_every = options.count("log-every", 0, std::uint64_t{1} << 40);
  read_reporting(options, request.reporting);
  request.reporting.plan_target = read_plan_target(options, config);
  read_checkpoint_policy(options, request.checkpoint_policy);
  refuse_without_evaluations(options, request);
  options.throw_faults("train");
  return request;
}

std::string unused_batch_option(const Options& options) {
  const bool is_global_stronger =
      options.is_set("global-batch-size") &&
      (!options.is_set("batch-size") ||
       options.value("global-batch-size").origin > options.value("batch-size").origin);
  return is_global_stronger ? "batch-size" : "global-batch-size";
}

std::map<std::string, std::string> options_of_ini(const Options& options) {
  std::map<std::string, std::string> kept;
  for (const OptionSpec& spec : options.table()) {
    const bool is_unused = spec.name == unused_batch_option(options);
    const std::string& value = options.value(spec.name).text;
    const bool is_left_out = spec.traits.config_file == ConfigFile::kLeftOut;
    if (!value.empty() && !is_left_out && !is_unused) kept[spec.name] = value;
  }
  return kept;
}

std::string to_ini(const Options& options, const std::string& heading) {
  const std::map<std::string, std::string> kept = options_of_ini(options);
  std::string text = "# " + join(split(heading, '\n'), "\n# ") + "\n";
  for (const OptionSpec& spec : options.table()) {
    const auto found = kept.find(spec.name);
    if (found != kept.end()) text += spec.name + " = " + found->second + "\n";
  }
  return text;
}

}  // namespace tandem::app
