#include "run_banner.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kDigestDigits = 12;
constexpr std::uint64_t kFewSteps = 3;
constexpr std::uint64_t kEnoughSteps = 10;
constexpr double kMostOfStart = 0.05;  // share of initial weights in an average, before a warning

std::string describe_data(const RunInputs& inputs) {
  const train::ImageStore& images = inputs.images;
  const data::DatasetInfo& info = images.info();
  const std::size_t held_out = images.validation().labels.size();
  return "data " + info.name + ": " + format_count(inputs.image_count) + " train, " +
         (held_out == 0 ? "" : format_count(held_out) + " validation, ") +
         format_count(info.test_count) + " test images of " + info.shape.text() + ", digest " +
         info.digest.substr(0, kDigestDigits) +
         (images.cache_bytes() == 0 ? ""
                                    : "; read as needed, " + format_bytes(images.cache_bytes()) +
                                          " of them in memory of each rank") +
         (images.shared() ? "" : "; " + format_bytes(images.bytes()) + " in every rank");
}

// For a batch of one image, which cannot be smaller.
std::string fix_of_least_batch(const train::TrainConfig& config, int world) {
  if (config.global_batch_size > 0) return "more training images";
  if (config.virtual_ranks > static_cast<std::uint64_t>(world)) return "a lower --virtual-ranks";
  if (config.virtual_ranks > 1) return "fewer ranks and a lower --virtual-ranks";
  if (config.accumulate > 1) return "a lower --accumulate";
  return world > 1 ? "fewer ranks" : "more training images";
}

}  // namespace

std::vector<std::string> given_options(const Options& options, const Arguments& words) {
  std::vector<std::string> parts;
  for (const OptionSpec& spec : options.table()) {
    const OptionValue& value = options.value(spec.name);
    if (value.origin != Origin::kEnvironment) continue;
    parts.push_back(environment_variable(spec.name) + "=" + shell_word(value.text));
  }
  for (const std::string& word : words) {
    const bool is_option = begins_with(word, "--") || parts.empty();
    if (is_option) {
      parts.push_back(shell_word(word));
    } else {
      parts.back() += " " + shell_word(word);
    }
  }
  return parts;
}

bool ends_at_max_steps(const train::TrainConfig& config, const train::BatchArithmetic& arithmetic) {
  return config.max_steps > 0 && arithmetic.total_steps == config.max_steps;
}

std::string describe_duration(const train::TrainConfig& config,
                              const train::BatchArithmetic& arithmetic) {
  std::string steps = format_quantity(arithmetic.total_steps, "step");
  if (ends_at_max_steps(config, arithmetic)) return steps;
  return (config.epochs == 1 ? "1 epoch" : format_real(config.epochs) + " epochs") + ", " + steps;
}

// After n steps the initial weights still count decay^n; with 3 / (1 - decay) steps that is 5 %.
std::string describe_short_average(const train::TrainConfig& config,
                                   const train::BatchArithmetic& arithmetic) {
  const auto steps = static_cast<double>(arithmetic.total_steps);
  const double left = std::pow(config.ema, steps);
  if (config.ema == 0 || left < kMostOfStart) return "";
  const double enough = std::floor(1000 * std::pow(kMostOfStart, 1 / steps)) / 1000;
  return "the average of --ema " + format_real(config.ema) + " still holds " +
         format_fixed(100 * left, 0) + " % of the initial weights after the run's " +
         format_quantity(arithmetic.total_steps, "step") + "; fix: --ema " + format_real(enough);
}

std::string describe_few_steps(const train::TrainConfig& config,
                               const train::BatchArithmetic& arithmetic, std::uint64_t image_count,
                               int world) {
  const std::uint64_t full = image_count / arithmetic.global_batch;
  if (full >= kFewSteps) return "";
  const std::uint64_t enough = image_count / kEnoughSteps;
  const bool is_global = config.global_batch_size > 0;
  const std::uint64_t parts =
      is_global ? 1 : config.micro_batches_per_step(static_cast<std::uint64_t>(world));
  return "the global batch of " + format_count(arithmetic.global_batch) +
         (full == 0 ? " is larger than the " : " is a large part of the ") +
         format_quantity(image_count, "training image") + ", so an epoch has " +
         format_quantity(arithmetic.steps_per_epoch, "step") + "; fix: " +
         ((is_global ? config.global_batch_size : config.batch_size) == 1
              ? fix_of_least_batch(config, world)
              : (is_global ? "--global-batch-size " : "--batch-size ") +
                    std::to_string(std::max<std::uint64_t>(1, enough / parts)));
}

void warn_of_length(const Job& job, const train::TrainConfig& config, const RunInputs& inputs) {
  const std::string few_steps =
      describe_few_steps(config, inputs.arithmetic, inputs.image_count, job.topology.world);
  const std::string average = describe_short_average(config, inputs.arithmetic);
  for (const std::string& each : {few_steps, average}) {
    if (!each.empty()) job.warn(each);
  }
}

std::string Banner::text() const {
  const train::TrainConfig& config = run.train.config;
  const auto world = static_cast<int>(ranks.ranks.size());
  std::vector<std::string> given = given_options(run.options, run.words);
  if (!given.empty()) given.front().insert(0, "  ");
  return fold("train " + run_id + ": " + config.model + ", " + format_quantity(world, "rank") +
              ", " + describe_duration(config, inputs.arithmetic)) +
         "\n" + fold(given) + "\n" + fold(describe_data(inputs)) + "\n" +
         fold("model " + config.model + ": " + format_quantity(parameters + frozen, "parameter") +
              (frozen > 0 ? ", " + format_count(parameters) + " of them trained" : "") + ", " +
              exchange) +
         "\n" + (taken.empty() ? "" : fold(taken) + "\n") +
         fold(inputs.arithmetic.describe(config, world)) + "\n\n" + brief_rank_table(ranks) + "\n";
}

}  // namespace tandem::app
