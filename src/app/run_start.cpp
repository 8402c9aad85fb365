#include "run_start.hpp"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json_fields.hpp"
#include "tandem/core/parse_json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/json_lines.hpp"
#include "tandem/metrics/superseded.hpp"
#include "tandem/train/snapshot.hpp"

namespace tandem::app {
namespace {

namespace fs = std::filesystem;

// What must not change when a run goes on. Ranks, threads, duration, reporting and how the work is
// cut into micro-batches and buckets may.
constexpr const char* kFixedOptions[] = {"model",
                                         "seed",
                                         "augment",
                                         "drop-last",
                                         "optimizer",
                                         "lr",
                                         "lr-reference-batch",
                                         "momentum",
                                         "nesterov",
                                         "sgd-momentum",
                                         "head-lr",
                                         "bias-lr",
                                         "early-epochs",
                                         "loss",
                                         "weight-decay",
                                         "beta1",
                                         "beta2",
                                         "epsilon",
                                         "schedule",
                                         "warmup-epochs",
                                         "step-epochs",
                                         "step-gamma",
                                         "label-smoothing",
                                         "clip-norm",
                                         "virtual-ranks",
                                         "validation-split",
                                         "precision"};

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

// Rank 0: the newest checkpoint that is whole.
void take_newest_valid(const train::CheckpointStore& store, RunStart& start) {
  std::vector<std::string> refused;
  for (const std::uint64_t step : store.steps()) {
    const std::string path = store.path_of(step);
    try {
      start.checkpoint = train::read_checkpoint(path);
      start.checkpoint_path = path;
      break;
    } catch (const Error& error) {
      refused.push_back(error.what());
    }
  }
  if (!start.checkpoint && !refused.empty()) {
    throw DataError(
        "--resume auto: no checkpoint of the run is valid, and it is not started anew; bring back "
        "a copy of one, or start another run with --run-id\n  " +
        join(refused, "\n  "));
  }
  start.refused = join(refused, "\n  ");
}

// Rank 0: runs/ID/checkpoints/step-N.safetensors says which run goes on.
void take_path(const std::string& path, const TrainReporting& reporting, RunStart& start) {
  const fs::path file = fs::weakly_canonical(path);
  if (!file_exists(path))
    throw MissingInputError("--resume " + path + ": is not there; check the path");
  const fs::path run = file.parent_path().parent_path();
  if (file.parent_path().filename() != "checkpoints") {
    throw UsageError(
        "--resume " + path +
        ": auto, none or a runs/ID/checkpoints/step-N.safetensors is expected; a run of "
        "--run-id goes on by auto, a checkpoint elsewhere is first moved there");
  }
  if (!reporting.run_id.empty() && run.filename() != reporting.run_id) {
    throw UsageError("--resume " + path + ": belongs to the run " + run.filename().string() +
                     ", --run-id names " + reporting.run_id + "; leave one of them out");
  }
  start.run_id = run.filename();
  start.runs_dir = run.parent_path();
  start.folder = metrics::RunFolder::open(start.runs_dir, start.run_id);
  start.checkpoint = train::read_checkpoint(file);
  start.checkpoint_path = file;
}

RunStart find_start_on_rank_0(const TrainReporting& reporting) {
  RunStart start;
  start.run_id = reporting.run_id.empty() ? metrics::make_run_id() : reporting.run_id;
  start.runs_dir = reporting.runs_dir;
  if (reporting.resume == "none") {
    metrics::RunFolder::require_free(start.runs_dir, start.run_id);
  } else if (reporting.resume != "auto") {
    take_path(reporting.resume, reporting, start);
  } else if (reporting.run_id.empty()) {
    throw UsageError("--resume auto: needs a --run-id, which names the run to go on with");
  } else if (!metrics::RunFolder::exists(start.runs_dir, start.run_id)) {
    metrics::RunFolder::require_free(start.runs_dir, start.run_id);
  } else {
    start.folder = metrics::RunFolder::open(start.runs_dir, start.run_id);
    take_newest_valid(train::CheckpointStore(start.folder->checkpoints_path()), start);
  }
  if (start.checkpoint) start.state = start.checkpoint->state;
  return start;
}

std::uint64_t kept_number(const RunStart& start, const std::string& name) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  try {
    return static_cast<std::uint64_t>(
        parse_integer(start.checkpoint->metadata.at(name), 0, kMost, name));
  } catch (const std::exception&) {
    throw DataError(start.checkpoint_path + ": its metadata has no number '" + name + "'");
  }
}

}  // namespace

RunStart find_start(Job& job, const TrainReporting& reporting) {
  RunStart start;
  Json shared;
  comm::agree_on_rank_0(job.world, [&] {
    start = find_start_on_rank_0(reporting);
    start.resumes = start.checkpoint.has_value();
    if (start.resumes) {
      start.global_batch = kept_number(start, "global_batch");
      start.optimizer_steps = kept_number(start, "optimizer_steps");
      const auto& metadata = start.checkpoint->metadata;
      const auto bucket = metadata.find("bucket_mb");
      if (bucket != metadata.end()) {
        start.bucket_mb = parse_real(bucket->second, 0, train::kLargestBucketMb,
                                     start.checkpoint_path + ": its metadata's bucket_mb");
      }
    }
    shared = {{"run_id", start.run_id},
              {"resumes", start.resumes},
              {"global_batch", start.global_batch},
              {"optimizer_steps", start.optimizer_steps},
              {"bucket_mb", start.bucket_mb ? Json(*start.bucket_mb) : Json(nullptr)},
              {"step", start.state.step},
              {"evaluation_due", start.state.evaluation_due},
              {"loss_scale", start.state.loss_scale.scale},
              {"loss_scale_steps", start.state.loss_scale.good_steps}};
  });
  shared = Json::parse(job.world.broadcast_string(shared.dump()));
  shared.at("run_id").get_to(start.run_id);
  shared.at("resumes").get_to(start.resumes);
  shared.at("global_batch").get_to(start.global_batch);
  shared.at("optimizer_steps").get_to(start.optimizer_steps);
  const Json& bucket = shared.at("bucket_mb");
  if (!bucket.is_null()) start.bucket_mb = bucket.get<double>();
  shared.at("step").get_to(start.state.step);
  shared.at("evaluation_due").get_to(start.state.evaluation_due);
  shared.at("loss_scale").get_to(start.state.loss_scale.scale);
  shared.at("loss_scale_steps").get_to(start.state.loss_scale.good_steps);
  return start;
}

void restore_state(Job& job, const RunStart& start, model::Network& network,
                   train::ParameterArena& arena, train::Optimizer& optimizer) {
  if (!start.resumes) return;
  comm::agree_on_rank_0(job.world, [&] {
    try {
      train::restore_snapshot(start.checkpoint->tensors, network, arena, optimizer);
    } catch (const DataError& error) {
      throw DataError(start.checkpoint_path + ": " + error.what());
    }
  });
  train::broadcast_state(job.world, network, arena, optimizer);
  optimizer.set_steps(start.optimizer_steps);
}

std::optional<Json> summary_if_complete(Job& job, const RunStart& start,
                                        std::uint64_t total_steps) {
  std::string text;
  comm::agree_on_rank_0(job.world, [&] {
    if (!start.resumes || start.state.step < total_steps) return;
    const Json summary = start.folder->read_summary();
    if (text_of(summary, "exit_reason") == "completed") text = summary.dump();
  });
  text = job.world.broadcast_string(text);
  if (text.empty()) return std::nullopt;
  return Json::parse(text);
}

std::string options_to_keep(const Options& options) {
  Json kept = Json::object();
  for (const char* name : kFixedOptions) kept[name] = options.text(name);
  return kept.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json kept_options(const RunStart& start) {
  const auto& metadata = start.checkpoint->metadata;
  const auto found = metadata.find("options");
  return found == metadata.end() ? Json() : parse_json_or_discard(found->second);
}

void require_same_run(Job& job, const RunStart& start, const Options& options,
                      const std::string& data_digest, const std::string& network_sha256,
                      std::uint64_t global_batch) {
  if (!start.resumes) return;
  comm::agree_on_rank_0(job.world, [&] {
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
    compare("data set digest", field("dataset_digest"), data_digest);
    compare("global batch", std::to_string(start.global_batch), std::to_string(global_batch));
    // A file is what it holds, whatever its name.
    const bool has_file = !field("network_sha256").empty() && !network_sha256.empty();
    if (has_file) compare("SHA-256 of the network", field("network_sha256"), network_sha256);
    const Json kept = kept_options(start);
    for (const std::string name : kFixedOptions) {
      if (name == "model" && has_file) continue;
      // An option that the run's program did not have was what it is without a word.
      compare("--" + name, kept.contains(name) ? text_of(kept, name) : options.default_of(name),
              options.text(name));
    }
    if (differences.empty()) return;
    throw DisagreementError(
        start.checkpoint_path +
        ": the run cannot go on like this; give the options that it was started "
        "with, or begin another run\n  " +
        join(differences, "\n  "));
  });
}

void keep_global_batch(Job& job, const RunStart& start, train::TrainConfig& config) {
  if (!start.resumes || config.global_batch_size > 0) return;
  const std::uint64_t now =
      config.batch_size * config.parts_of_batch(static_cast<std::uint64_t>(job.topology.world));
  config.global_batch_size = start.global_batch;
  if (now != start.global_batch && job.is_root()) {
    show_line("the run keeps its global batch of " + std::to_string(start.global_batch) + "; " +
              std::to_string(config.batch_size) + " images per rank would make " +
              std::to_string(now));
  }
}

metrics::RunFolder open_folder(RunStart& start) {
  if (!start.folder) return metrics::RunFolder::create(start.runs_dir, start.run_id);
  const train::CheckpointStore store(start.folder->checkpoints_path());
  store.sweep();
  if (start.checkpoint) store.keep_if_best(*start.checkpoint);
  store.supersede_after(start.state.step);
  metrics::Superseded aside(start.folder->checkpoints_path());
  start.folder->supersede_model(aside);
  for (const std::string& path : start.folder->written_metrics()) {
    metrics::JsonLinesSink::drop_after(path, start.state.step);
  }
  start.folder->remove_results_after(start.state.step);
  return std::move(*start.folder);
}

void report_start(const RunStart& start, const metrics::RunFolder& folder,
                  std::uint64_t steps_per_epoch, const Workers& workers,
                  const metrics::Sinks& sinks, bool quiet) {
  if (!folder.lock_warning().empty()) print_warning(folder.lock_warning());
  if (!start.refused.empty()) print_warning("checkpoints were refused:\n  " + start.refused);
  if (!start.resumes) return;
  const double epoch = static_cast<double>(start.state.step) / static_cast<double>(steps_per_epoch);
  const std::string text = "resumed from " + start.checkpoint_path + ": step " +
                           std::to_string(start.state.step) + ", epoch " + format_fixed(epoch, 2) +
                           describe_change(start.checkpoint->metadata, workers, start.global_batch);
  if (!quiet) show_line(text);
  for (const auto& sink : sinks) sink->on_note({"resume", start.state.step, epoch, text});
}

}  // namespace tandem::app
