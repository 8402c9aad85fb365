#include "kept_choices.hpp"

#include <cstdint>
#include <vector>

#include "cli/train_options.hpp"
#include "saved_options.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/run_record.hpp"
#include "tandem/train/muon.hpp"
#include "tandem/train/schedule.hpp"

namespace tandem::app {
namespace {

constexpr char kOrderOfParts[] = "order_of_parts";
constexpr char kInLanes[] = "lanes";
constexpr char kMuonProducts[] = "muon_products";
constexpr char kBfloat16[] = "bf16";

// Rank 0. The value of a numerical option at the run's last start; empty if it cannot be read.
std::string last_value(const RunStart& start, const std::string& option) {
  if (!start.folder) return "";
  try {
    std::string value = metrics::read_run(start.folder->path()).option(option);
    parse_real(value, 1e-6, 1e15, option);
    return value;
  } catch (const Error&) {
    return "";
  }
}

// Rank 0. Whether the user gives another --batch-size than at the run's last start, and the
// checkpoint is from the same number of ranks. A shipped recipe may have another value in another
// version; the run keeps its own.
bool has_other_batch_size(const Job& job, const RunStart& start, const Options& options) {
  const OptionValue& now = options.value("batch-size");
  const bool is_of_user =
      now.origin > Origin::kRecipe ||
      (now.origin == Origin::kRecipe && !is_shipped_recipe(options.text("recipe")));
  if (!is_of_user || start.entry("world_size") != std::to_string(job.topology.world)) return false;
  const std::string then = last_value(start, "batch-size");
  if (then.empty()) return !last_value(start, "global-batch-size").empty();
  return !mean_the_same(then, now.text);
}

void show_kept(const Job& job, const RunRequest& run, const std::string& line) {
  if (job.is_root() && !run.train.reporting.quiet) show_line("the run keeps its " + line);
}

// Reads all options again if any value is kept.
void keep_recipe(Job& job, const RunStart& start, RunRequest& run) {
  Options& options = run.options;
  std::string text;
  comm::agree_on_rank_0(job.world,
                        [&] { text = Json(recipe_values_to_keep(start, options)).dump(); });
  std::vector<std::string> words;
  const Json values = Json::parse(job.world.broadcast_string(text));
  for (const auto& [name, value] : values.items()) {
    options.resolve(name, value);
    words.push_back("--" + name + " " + text_of(values, name));
  }
  if (words.empty()) return;
  show_kept(job, run,
            join(words, ", ") + "; --recipe " + options.text("recipe") + " has other values");
  comm::agree(job.world, [&] { run.train = read_train_options(options); });
}

// Keeps the global batch, unless the user gives --global-batch-size or, on the same number of
// ranks, another --batch-size. Then require_same_run() compares it.
void keep_global_batch(Job& job, const RunStart& start, RunRequest& run) {
  train::TrainConfig& config = run.train.config;
  if (config.global_batch_size > 0) return;
  const std::uint64_t now = config.batch_size * config.micro_batches_per_step(
                                                    static_cast<std::uint64_t>(job.topology.world));
  if (now != start.global_batch) {
    bool keeps = true;
    comm::agree_on_rank_0(job.world,
                          [&] { keeps = !has_other_batch_size(job, start, run.options); });
    if (!comm::is_true_everywhere(job.world, keeps)) return;
    show_kept(job, run,
              "global batch of " + std::to_string(start.global_batch) + "; " +
                  std::to_string(config.batch_size) + " images per rank would make " +
                  std::to_string(now));
  }
  config.global_batch_size = start.global_batch;
}

// A run of a version without lanes continues to shuffle its set as a whole, unless the option is
// given. Then require_same_run() refuses another value. A run of a version without lanes for sets
// in several files continues to shuffle such a set as a whole.
void keep_lanes(Job& job, const RunStart& start, Options& options, train::TrainConfig& config) {
  const bool has_lanes = !job.is_root() || start.entry(kOrderOfParts) == kInLanes;
  config.reading.are_parts_whole = !comm::is_true_everywhere(job.world, has_lanes);
  if (options.value("read-lanes").origin != Origin::kDefault) return;
  const bool has_option = !job.is_root() || saved_options(start).contains("read-lanes");
  if (comm::is_true_everywhere(job.world, has_option)) return;
  config.reading.lanes = 0;
  options.resolve("read-lanes", "0");
}

// A run of a version that multiplied in fp32 continues with it.
void choose_muon_products(Job& job, const RunStart& start, train::TrainConfig& config) {
  const bool has_bfloat16 =
      start.resumes ? !job.is_root() || start.entry(kMuonProducts) == kBfloat16
                    : train::prefers_bfloat16_products(config.optimizer, config.precision);
  config.optimizer.bfloat16_products = comm::is_true_everywhere(job.world, has_bfloat16);
}

}  // namespace

void keep_choices(Job& job, const RunStart& start, RunRequest& run) {
  if (start.resumes) {
    keep_recipe(job, start, run);
    keep_global_batch(job, start, run);
    keep_convolution(start, run.options, run.train.config);
    keep_lanes(job, start, run.options, run.train.config);
  }
  choose_muon_products(job, start, run.train.config);
}

std::map<std::string, std::string> recipe_values_to_keep(const RunStart& start, Options& options) {
  std::map<std::string, std::string> values;
  const Json saved = saved_options(start);
  if (!saved.is_object() || !is_shipped_recipe(options.text("recipe"))) return values;
  const auto keep = [&](const std::string& name, const std::string& then) {
    const OptionValue& now = options.value(name);
    const bool differs = now.origin == Origin::kRecipe && !mean_the_same(then, now.text);
    if (differs && !then.empty()) values[name] = then;
  };
  for (const OptionSpec& spec : fixed_options(options)) keep(spec.name, saved_value(saved, spec));
  if (values.count("model") > 0) return {};
  // With --batch-size of the user, the global batch of the recipe is not used.
  if (start.global_batch > 0 && options.value("batch-size").origin <= Origin::kRecipe) {
    keep("global-batch-size", std::to_string(start.global_batch));
  }
  const auto schedule = values.find("schedule");
  const bool has_length = train::Schedule::depends_on_length(
      {schedule == values.end() ? options.text("schedule") : schedule->second});
  if (has_length && !options.flag("new-schedule")) keep("epochs", last_value(start, "epochs"));
  return values;
}

void keep_convolution(const RunStart& start, Options& options, train::TrainConfig& config) {
  if (options.value("convolution").origin != Origin::kDefault) return;
  config.convolution = start.convolution;
  options.resolve("convolution", model::name_of(start.convolution));
}

std::map<std::string, std::string> metadata_to_save(const RunRequest& run, const RunInputs& inputs,
                                                    const ComputeSetup& setup) {
  std::map<std::string, std::string> metadata = inputs.description.to_metadata();
  metadata.merge(setup.to_metadata());
  metadata["options"] = options_to_save(run.options);
  metadata["global_batch"] = std::to_string(inputs.arithmetic.global_batch);
  metadata["bucket_mb"] = format_real(run.train.config.bucket_mb);
  metadata["schedule_steps"] = std::to_string(inputs.schedule.steps);
  if (run.train.config.optimizer.bfloat16_products) metadata[kMuonProducts] = kBfloat16;
  if (inputs.images.info().is_in_parts()) {
    metadata[kOrderOfParts] = inputs.lanes != nullptr ? kInLanes : "whole";
  }
  return metadata;
}

}  // namespace tandem::app
