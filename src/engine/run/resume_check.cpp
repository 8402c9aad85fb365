#include "resume_check.hpp"

#include <cstdlib>
#include <vector>

#include "cli/train_options.hpp"
#include "run_segments.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/run_record.hpp"
#include "tandem/train/schedule.hpp"

namespace tandem::app {
namespace {

std::vector<OptionSpec> fixed_options(const Options& options) {
  std::vector<OptionSpec> fixed;
  for (const OptionSpec& spec : options.table()) {
    if (spec.traits.on_resume == OnResume::kFixed) fixed.push_back(spec);
  }
  return fixed;
}

// "0.05" and "5e-2" are the same.
bool mean_the_same(const std::string& one, const std::string& other) {
  if (one == other) return true;
  char* end_of_one = nullptr;
  char* end_of_other = nullptr;
  const double first = std::strtod(one.c_str(), &end_of_one);
  const double second = std::strtod(other.c_str(), &end_of_other);
  return !one.empty() && !other.empty() && *end_of_one == '\0' && *end_of_other == '\0' &&
         first == second;
}

// Whether the option has no effect with a set of pixels.
bool is_of_picture_files(const std::string& option) {
  return option == "decode" || option == "eval-crop" || option == "read-lanes" ||
         option == "shuffle-mb";
}

// The value of --epochs at the run's last start; empty if it cannot be read.
std::string epochs_of(const RunStart& start) {
  if (!start.folder) return "";
  try {
    std::string epochs = metrics::read_run(start.folder->path()).option("epochs");
    parse_real(epochs, 1e-6, 1e6, "epochs");
    return epochs;
  } catch (const Error&) {
    return "";
  }
}

constexpr char kOrderOfParts[] = "order_of_parts";
constexpr char kInLanes[] = "lanes";

bool has_parts_in_lanes(const RunStart& start) {
  const auto& metadata = start.checkpoint->metadata;
  const auto found = metadata.find(kOrderOfParts);
  return found != metadata.end() && found->second == kInLanes;
}

}  // namespace

std::map<std::string, std::string> order_to_keep(const data::DatasetInfo& info, bool has_lanes) {
  if (!info.is_in_parts()) return {};
  return {{kOrderOfParts, has_lanes ? kInLanes : "whole"}};
}

std::string options_to_keep(const Options& options) {
  Json kept = Json::object();
  for (const OptionSpec& spec : fixed_options(options)) kept[spec.name] = options.text(spec.name);
  return kept.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string saved_value(const Json& kept, const OptionSpec& spec) {
  for (const std::string& name : names_of(spec)) {
    if (kept.contains(name)) return text_of(kept, name);
  }
  return spec.earlier_value.empty() ? spec.default_value : spec.earlier_value;
}

Json saved_options(const RunStart& start) {
  const auto& metadata = start.checkpoint->metadata;
  const auto found = metadata.find("options");
  return found == metadata.end() ? Json() : parse_json_or_discard(found->second);
}

std::vector<std::string> differences_from(const RunStart& start, const Options& options,
                                          const data::DatasetInfo& info,
                                          const std::string& network_sha256,
                                          std::uint64_t global_batch) {
  const auto& metadata = start.checkpoint->metadata;
  const auto field = [&](const std::string& name) {
    const auto found = metadata.find(name);
    return found == metadata.end() ? "" : found->second;
  };
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& name, const std::string& then,
                           const std::string& now) {
    if (mean_the_same(then, now)) return;
    differences.push_back(name + ": the run has '" + then + "', now '" + now + "' is asked for");
  };
  compare("data set digest", field("dataset_digest"), info.digest);
  compare("global batch", std::to_string(start.global_batch), std::to_string(global_batch));
  // A network file is compared by its content, not by its name.
  const bool has_file = !field("network_sha256").empty() && !network_sha256.empty();
  if (has_file) compare("SHA-256 of the network", field("network_sha256"), network_sha256);
  const Json kept = saved_options(start);
  for (const OptionSpec& spec : fixed_options(options)) {
    if (spec.name == "model" && has_file) continue;
    if (!info.is_encoded() && is_of_picture_files(spec.name)) continue;
    compare("--" + spec.name, saved_value(kept, spec), options.text(spec.name));
  }
  return differences;
}

void require_same_run(Job& job, const RunStart& start, const Options& options,
                      const data::DatasetInfo& info, const std::string& network_sha256,
                      std::uint64_t global_batch) {
  if (!start.resumes) return;
  comm::agree_on_rank_0(job.world, [&] {
    const std::vector<std::string> differences =
        differences_from(start, options, info, network_sha256, global_batch);
    if (differences.empty()) return;
    throw DisagreementError(
        start.checkpoint_path +
        ": these options differ from those of the run; give its options, or start another "
        "run\n  " +
        join(differences, "\n  "));
  });
}

void require_progress(Job& job, const RunStart& start, std::uint64_t most) {
  comm::agree_on_rank_0(job.world, [&] {
    if (most == 0 || !start.folder) return;
    const std::uint64_t step = start.state.step;
    const std::uint64_t starts =
        starts_from(member(start.folder->read_manifest(), "segments"), step);
    if (starts < most) return;
    throw TrainingError(start.folder->path() + ": the last " + format_quantity(starts, "start") +
                        " began at step " + format_count(step) +
                        " and saved no new checkpoint, so this one does not train "
                        "(--max-stuck-starts " +
                        std::to_string(most) +
                        "); find out why they ended, allow more time or a shorter "
                        "--checkpoint-every, and start once with --max-stuck-starts 0");
  });
}

std::map<std::string, std::string> recipe_values_to_keep(const RunStart& start, Options& options) {
  std::map<std::string, std::string> values;
  const Json kept = saved_options(start);
  if (!kept.is_object() || !is_shipped_recipe(options.text("recipe"))) return values;
  const auto keep = [&](const std::string& name, const std::string& then) {
    const OptionValue& now = options.value(name);
    const bool differs = now.origin == Origin::kRecipe && !mean_the_same(then, now.text);
    if (differs && !then.empty()) values[name] = then;
  };
  for (const OptionSpec& spec : fixed_options(options)) keep(spec.name, saved_value(kept, spec));
  if (values.count("model") > 0) return {};
  // With --batch-size of the user, the global batch of the recipe is not used.
  if (start.global_batch > 0 && options.value("batch-size").origin <= Origin::kRecipe) {
    keep("global-batch-size", std::to_string(start.global_batch));
  }
  const auto schedule = values.find("schedule");
  const bool has_length = train::Schedule::depends_on_length(
      {schedule == values.end() ? options.text("schedule") : schedule->second});
  if (has_length && !options.flag("new-schedule")) keep("epochs", epochs_of(start));
  return values;
}

void keep_recipe(Job& job, const RunStart& start, Options& options, train::TrainConfig& config) {
  if (!start.resumes) return;
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
  config = read_train_options(options).config;
  if (!job.is_root()) return;
  show_line("the run keeps its " + join(words, ", ") + "; --recipe " + options.text("recipe") +
            " has other values");
}

void keep_global_batch(Job& job, const RunStart& start, train::TrainConfig& config) {
  if (!start.resumes || config.global_batch_size > 0) return;
  const std::uint64_t now = config.batch_size * config.micro_batches_per_step(
                                                    static_cast<std::uint64_t>(job.topology.world));
  config.global_batch_size = start.global_batch;
  if (now != start.global_batch && job.is_root()) {
    show_line("the run keeps its global batch of " + std::to_string(start.global_batch) + "; " +
              std::to_string(config.batch_size) + " images per rank would make " +
              std::to_string(now));
  }
}

void keep_convolution(const RunStart& start, Options& options, train::TrainConfig& config) {
  if (!start.resumes || options.value("convolution").origin != Origin::kDefault) return;
  config.convolution = start.convolution;
  options.resolve("convolution", model::name_of(start.convolution));
}

void keep_lanes(Job& job, const RunStart& start, Options& options, train::TrainConfig& config) {
  if (!start.resumes) return;
  const bool is_whole = job.is_root() && !has_parts_in_lanes(start);
  config.reading.are_parts_whole = job.world.all_reduce_value<std::int64_t>(is_whole ? 1 : 0) == 1;
  if (options.value("read-lanes").origin != Origin::kDefault) return;
  const bool has_none = job.is_root() && !saved_options(start).contains("read-lanes");
  if (job.world.all_reduce_value<std::int64_t>(has_none ? 1 : 0) == 0) return;
  config.reading.lanes = 0;
  options.resolve("read-lanes", "0");
}

void keep_choices(Job& job, const RunStart& start, Options& options, train::TrainConfig& config) {
  keep_recipe(job, start, options, config);
  keep_global_batch(job, start, config);
  keep_convolution(start, options, config);
  keep_lanes(job, start, options, config);
}

}  // namespace tandem::app
