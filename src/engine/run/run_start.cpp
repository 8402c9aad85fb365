#include "run_start.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "cli/resume_command.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/metric_lines.hpp"
#include "tandem/metrics/run_record.hpp"
#include "tandem/metrics/superseded.hpp"

namespace tandem::app {
namespace {

namespace fs = std::filesystem;

// While a start watches a silent lock, it calls `touch`, prints why, and stops on a signal (75). If
// another run takes over the folder, the job ends with 73, even if its ranks hang.
metrics::LockSettings lock_settings(Touch touch) {
  metrics::LockSettings settings;
  settings.pause = [touch = std::move(touch)](double seconds) {
    touch();
    if (StopSignal::received() != 0) {
      throw Error(ExitCode::kStopped,
                  "stopped while waiting for another run's lock; repeat the command");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  settings.on_wait = print_warning;
  if (comm::Runtime::allows_threads()) {
    settings.on_lost = [](const std::string& words) {
      print_error(words);
      comm::Runtime::abort(static_cast<int>(ExitCode::kCannotCreate));
    };
  }
  return settings;
}

// Rank 0. A line about a checkpoint is written once that checkpoint is durable.
bool has_saved_checkpoints(const metrics::RunFolder& folder) {
  if (!file_exists(folder.metrics_path())) return false;
  const metrics::MetricLines lines = metrics::read_metric_lines(folder.metrics_path());
  return std::any_of(lines.notes.begin(), lines.notes.end(),
                     [](const metrics::Note& note) { return note.event == "checkpoint"; });
}

// Rank 0: the newest valid checkpoint. A run starts anew only if it never saved anything.
void take_newest_whole(const train::CheckpointStore& store, RunStart& start) {
  train::CheckpointStore::Newest newest = store.newest_whole();
  start.refused = join(newest.refused, "\n  ");
  start.checkpoint = std::move(newest.checkpoint);
  start.checkpoint_path = std::move(newest.path);
  if (start.checkpoint) return;
  if (!newest.refused.empty()) {
    throw DataError(
        "--resume auto: no checkpoint of the run is valid, so it is not restarted; restore a copy "
        "of one, or start another run with --run-id\n  " +
        start.refused);
  }
  if (store.has_superseded()) {
    throw DataError("--resume auto: " + start.folder->checkpoints_path() +
                    " holds no checkpoint but those in its superseded-N folders, so the run is "
                    "not restarted; move one of them up to checkpoints/, or start another run "
                    "with --run-id");
  }
  if (has_saved_checkpoints(*start.folder)) {
    throw DataError("--resume auto: " + start.folder->checkpoints_path() +
                    " holds no checkpoint, but metrics.jsonl names some, so the run is not "
                    "restarted; restore a copy of one, or start another run with --run-id");
  }
}

// Rank 0. A run that ends by itself leaves a summary. Absent if the run did no step.
std::optional<std::uint64_t> last_step_of_killed(const metrics::RunFolder& folder) {
  constexpr std::uint64_t kEnough = std::uint64_t{1} << 20;  // bytes at the end of the file
  if (!folder.read_summary().is_null() || !file_exists(folder.metrics_path())) return std::nullopt;
  metrics::Reading reading;
  reading.most_bytes = kEnough;
  const double step = metrics::read_metric_lines(folder.metrics_path(), reading).last_step();
  if (step < 1) return std::nullopt;
  return static_cast<std::uint64_t>(step);
}

std::string without_digits(std::string text) {
  text.erase(
      std::remove_if(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); }),
      text.end());
  return text;
}

// Rank 0: the run in the same folder with the nearest name. Names that differ in digits only do not
// count: they are runs of one series.
std::optional<std::string> find_similar_run(const RunStart& start) {
  std::vector<std::string> names;
  for (const std::string& path : list_folder(start.runs_dir)) {
    const std::string name = fs::path(path).filename();
    const bool is_next = without_digits(name) == without_digits(start.run_id);
    if (!is_next && metrics::is_run_folder(path)) names.push_back(name);
  }
  return nearest(start.run_id, names);
}

// Rank 0: runs/ID/checkpoints/step-N.safetensors says which run goes on.
void take_path(const std::string& path, const TrainReporting& reporting, RunStart& start) {
  if (!file_exists(path)) {
    throw MissingInputError("--resume " + path + ": is not there; check the path");
  }
  const fs::path file = fs::canonical(path);
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
  start.folder = metrics::RunFolder::open(start.runs_dir, start.run_id, start.lock);
  start.checkpoint = train::read_checkpoint(file, start.touch);
  start.checkpoint_path = file;
}

std::uint64_t kept_number(const RunStart& start, const std::string& name) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  try {
    return static_cast<std::uint64_t>(parse_integer(start.entry(name), 0, kMax, name));
  } catch (const std::exception&) {
    throw DataError(start.checkpoint_path + ": its metadata has no number '" + name + "'");
  }
}

model::ConvolutionChoice kept_convolution(const RunStart& start) {
  const std::string choice = start.entry("convolution");
  if (choice.empty()) return model::ConvolutionChoice::kDirect;
  try {
    return model::parse_convolution(choice);
  } catch (const UsageError& error) {
    throw DataError(start.checkpoint_path + ": its metadata: " + error.what());
  }
}

// On rank 0.
bool lacks_results(const RunStart& start, bool views) {
  const auto& last = start.state.result.last_evaluation;
  if (!last || (views && !last->views_accuracy)) return true;
  return !start.folder->has_evaluation_after(start.state.step);
}

}  // namespace

RunStart find_start_alone(const TrainReporting& reporting, metrics::LockSettings lock,
                          const Touch& touch) {
  RunStart start;
  start.touch = touch;
  start.lock = std::move(lock);
  start.run_id = reporting.run_id.empty() ? metrics::make_run_id() : reporting.run_id;
  start.runs_dir = reporting.runs_dir;
  start.is_auto = reporting.resume == "auto";
  if (reporting.resume != "none" && !start.is_auto) {
    take_path(reporting.resume, reporting, start);
  } else if (start.is_auto && reporting.run_id.empty()) {
    throw UsageError("--resume auto: needs a --run-id, which names the run to go on with");
  } else if (!start.is_auto || !metrics::RunFolder::exists(start.runs_dir, start.run_id)) {
    metrics::RunFolder::require_free(start.runs_dir, start.run_id);
    if (start.is_auto) start.similar_run = find_similar_run(start);
  } else {
    start.folder = metrics::RunFolder::open(start.runs_dir, start.run_id, start.lock);
    take_newest_whole(train::CheckpointStore(start.folder->checkpoints_path(), touch), start);
  }
  if (start.folder) start.killed_after = last_step_of_killed(*start.folder);
  start.resumes = start.checkpoint.has_value();
  if (!start.resumes) return start;
  start.state = start.checkpoint->state;
  start.global_batch = kept_number(start, "global_batch");
  start.optimizer_steps = kept_number(start, "optimizer_steps");
  if (const std::string bucket_mb = start.entry("bucket_mb"); !bucket_mb.empty()) {
    start.bucket_mb = parse_real(bucket_mb, 0, train::kMaxBucketMb,
                                 start.checkpoint_path + ": its metadata's bucket_mb");
  }
  start.convolution = kept_convolution(start);
  if (!start.entry("schedule_steps").empty()) {
    start.schedule_steps = kept_number(start, "schedule_steps");
  }
  return start;
}

Json shared_part(const RunStart& start) {
  return {{"run_id", start.run_id},
          {"resumes", start.resumes},
          {"global_batch", start.global_batch},
          {"optimizer_steps", start.optimizer_steps},
          {"convolution", model::name_of(start.convolution)},
          {"bucket_mb", start.bucket_mb ? Json(*start.bucket_mb) : Json(nullptr)},
          {"step", start.state.step},
          {"epochs", start.state.result.epochs},
          {"images_seen", start.state.result.images_seen},
          {"evaluation_due", start.state.evaluation_due},
          {"evaluations_since_best", start.state.evaluations_since_best},
          {"loss_scale", start.state.loss_scale.scale},
          {"loss_scale_steps", start.state.loss_scale.good_steps}};
}

void take_shared_part(const Json& shared, RunStart& start) {
  shared.at("run_id").get_to(start.run_id);
  shared.at("resumes").get_to(start.resumes);
  shared.at("global_batch").get_to(start.global_batch);
  shared.at("optimizer_steps").get_to(start.optimizer_steps);
  start.convolution = model::parse_convolution(shared.at("convolution"));
  const Json& bucket = shared.at("bucket_mb");
  if (!bucket.is_null()) start.bucket_mb = bucket.get<double>();
  shared.at("step").get_to(start.state.step);
  start.state.result.steps = start.state.step;
  shared.at("epochs").get_to(start.state.result.epochs);
  shared.at("images_seen").get_to(start.state.result.images_seen);
  shared.at("evaluation_due").get_to(start.state.evaluation_due);
  shared.at("evaluations_since_best").get_to(start.state.evaluations_since_best);
  shared.at("loss_scale").get_to(start.state.loss_scale.scale);
  shared.at("loss_scale_steps").get_to(start.state.loss_scale.good_steps);
}

RunStart find_start(Job& job, const RunRequest& run, const Touch& touch) {
  RunStart start;
  std::string shared;
  comm::agree_on_rank_0(job.world, [&] {
    start = find_start_alone(run.train.reporting, lock_settings(touch), touch);
    shared = shared_part(start).dump();
  });
  take_shared_part(Json::parse(job.world.broadcast_string(shared)), start);
  start.runs_dir = job.world.broadcast_string(start.runs_dir);
  auto& watchdog = job.supervision().watchdog();
  if (watchdog && !job.has_several_runs) {
    watchdog->set_fix(
        resume_command(program_words(job.topology.world), run.words, start.run_id, start.runs_dir));
  }
  return start;
}

Json complete_summary(const RunStart& start, std::uint64_t total_steps) {
  if (!start.resumes || start.state.step < total_steps) return nullptr;
  // The checkpoint after the last evaluation was lost, so that evaluation is repeated.
  if (start.state.evaluation_due) return nullptr;
  Json summary = start.folder->read_summary();
  // A power failure may have restored the summary of an earlier end.
  const bool is_of_this_end = number_of(summary, "steps") == static_cast<double>(start.state.step);
  return text_of(summary, "exit_reason") == "completed" && is_of_this_end ? summary : Json();
}

std::optional<Json> summary_if_complete(Job& job, const RunStart& start,
                                        std::uint64_t total_steps) {
  std::string text;
  comm::agree_on_rank_0(job.world, [&] { text = complete_summary(start, total_steps).dump(); });
  const Json summary = Json::parse(job.world.broadcast_string(text));
  if (summary.is_null()) return std::nullopt;
  return summary;
}

void owe_last_evaluation(Job& job, RunStart& start, const train::TrainConfig& config,
                         std::uint64_t total_steps, bool views) {
  const bool is_at_its_end = start.resumes && start.state.step >= total_steps;
  if (!is_at_its_end || config.eval_every == 0) return;
  bool is_due = true;
  comm::agree_on_rank_0(
      job.world, [&] { is_due = start.state.evaluation_due || lacks_results(start, views); });
  start.state.evaluation_due = comm::is_true_everywhere(job.world, is_due);
}

// Moves the checkpoints first. If the process is killed here, the run resumes from the newest one
// left, and nothing up to its step was moved.
metrics::RunFolder open_folder(RunStart& start) {
  if (!start.folder) return metrics::RunFolder::create(start.runs_dir, start.run_id, start.lock);
  start.folder->require_held();
  const train::CheckpointStore store(start.folder->checkpoints_path(), start.touch);
  metrics::Superseded aside(start.folder->checkpoints_path());
  store.sweep();
  if (start.checkpoint) store.go_on_from(start.checkpoint_path, start.state.step, aside);
  start.folder->supersede_after({start.state.step, start.state.evaluation_due}, aside, start.touch);
  start.folder->supersede_model(aside);
  return std::move(*start.folder);
}

}  // namespace tandem::app
