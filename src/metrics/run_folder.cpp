#include "tandem/metrics/run_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>
#include <utility>

#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/json_lines.hpp"

namespace tandem::metrics {
namespace {

constexpr std::size_t kLongestRunId = 64;
constexpr char kRanks[] = "/ranks";
constexpr char kRankFile[] = "rank-";
constexpr char kTensorBoard[] = "/tensorboard";  // of runs of earlier versions
constexpr char kCheckpoints[] = "/checkpoints";
constexpr const char* kFolders[] = {"/model", kRanks};

// Another start may have made `around`, and may remove it again in require_free().
void make_folder(const std::string& path, const std::string& around = "") {
  for (int tries = 10; ::mkdir(path.c_str(), 0777) != 0; --tries) {
    const int error = errno;
    if (around.empty() || error != ENOENT || tries == 0) {
      throw CannotCreateError(path + ": the folder cannot be created: " + errno_text(error) +
                              "; choose a writable place with --runs-dir");
    }
    make_folders_durably(around);
  }
}

Json read_json(const std::string& path) {
  if (!file_exists(path)) return nullptr;
  const Json json = parse_json_or_discard(read_file(path));
  return json.is_object() ? json : Json(nullptr);
}

// Data set names come from a file; only these characters reach a path.
std::string as_file_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '_'; }, '_');
  return name;
}

// A run that was killed while it created its folder has some of kFolders and nothing else.
// checkpoints/ may be a mount point, which exists before the run.
bool is_just_begun(const std::string& path) {
  const std::vector<std::string> entries = list_folder(path);
  return std::all_of(entries.begin(), entries.end(), [&](const std::string& entry) {
    const std::string name = entry.substr(path.size());
    const bool is_ours = name == kCheckpoints || name == kTensorBoard ||
                         std::count(std::begin(kFolders), std::end(kFolders), name) > 0;
    return is_ours && is_folder(entry) && list_folder(entry).empty();
  });
}

// Other programs also keep safetensors files in a folder of this name.
bool is_named_as_checkpoint(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  return name == "best.safetensors" ||
         (begins_with(name, "step-") && ends_with(name, ".safetensors"));
}

// Refuses a folder of other files, which was named by mistake.
void require_run(const std::string& path) {
  const auto is_run = [&path] {
    const std::vector<std::string> checkpoints = list_folder(path + kCheckpoints);
    return RunLock::is_in(path) || !text_of(read_json(path + "/manifest.json"), "run_id").empty() ||
           std::any_of(checkpoints.begin(), checkpoints.end(), is_named_as_checkpoint) ||
           is_just_begun(path);
  };
  if (is_folder(path) && is_run()) return;
  throw CannotCreateError(path +
                          ": is neither empty nor the folder of a run: it has no run.lock, "
                          "manifest.json or checkpoints of tandem; nothing was changed; choose "
                          "another --run-id");
}

// Makes the folder and its missing parents. Returns those that it made.
std::vector<std::string> make_runs_dir(const std::string& runs_dir) {
  try {
    return make_folders_durably(runs_dir);
  } catch (const CannotCreateError& error) {
    throw CannotCreateError(std::string("--runs-dir: ") + error.what() +
                            "; choose a writable place");
  }
}

// The path of the run. Nothing is at this path yet.
std::string free_path(const std::string& runs_dir, const std::string& run_id) {
  std::string path = runs_dir + "/" + run_id;
  if (!output_exists(path)) return path;
  require_run(path);
  throw CannotCreateError(path +
                          (is_just_begun(path)
                               ? ": the folder exists already, without a run; start in it"
                               : ": holds a run already, and nothing was changed; resume it") +
                          " with --resume auto, or choose another --run-id");
}

// "/rank-0001.jsonl"
std::string rank_file(int rank, const char* extension) {
  char name[32];
  std::snprintf(name, sizeof name, "/%s%04d%s", kRankFile, rank, extension);
  return name;
}

}  // namespace

void check_run_id(const std::string& run_id) {
  const bool characters_allowed = std::all_of(run_id.begin(), run_id.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) || c == '.' || c == '_' || c == '-');
  });
  if (run_id.empty() || run_id.size() > kLongestRunId || !characters_allowed ||
      run_id.front() == '.') {
    throw UsageError("--run-id: '" + run_id +
                     "' is not 1 to 64 letters, digits, '.', '_' or '-' without a dot in front");
  }
}

std::string make_run_id() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
  char rest[32];
  std::snprintf(rest, sizeof rest, "-%03ld-%04x", now.tv_nsec / 1'000'000,
                std::random_device()() & 0xFFFFU);
  return std::string(stamp) + rest;
}

RunFolder::RunFolder(std::string run_id, std::string path, LockSettings lock)
    : run_id_(std::move(run_id)), path_(std::move(path)), lock_(path_, std::move(lock)) {}

void RunFolder::require_free(const std::string& runs_dir, const std::string& run_id) {
  check_run_id(run_id);
  const std::vector<std::string> made = make_runs_dir(runs_dir);
  const std::string path = free_path(runs_dir, run_id);
  make_folder(path, runs_dir);
  ::rmdir(path.c_str());
  // From the innermost outward. A folder stays if another run is in it.
  std::for_each(made.rbegin(), made.rend(), [](const auto& each) { ::rmdir(each.c_str()); });
}

RunFolder RunFolder::create(const std::string& runs_dir, const std::string& run_id,
                            LockSettings lock) {
  check_run_id(run_id);
  const std::string path = runs_dir + "/" + run_id;
  if (output_exists(path)) {
    throw CannotCreateError(path +
                            ": another run has just started in this folder; wait for it, or "
                            "choose another --run-id");
  }
  make_runs_dir(runs_dir);
  make_folder(path, runs_dir);
  try {
    RunFolder folder(run_id, path, std::move(lock));  // locks it before another start can
    for (const char* each : kFolders) make_folder(path + each);
    sync_folder(path);
    sync_folder(runs_dir);
    return folder;
  } catch (const CannotCreateError&) {
    ::rmdir(path.c_str());  // stays if the lock, or another start, left a file there
    throw;
  }
}

bool RunFolder::exists(const std::string& runs_dir, const std::string& run_id) {
  check_run_id(run_id);
  const std::string path = runs_dir + "/" + run_id;
  return output_exists(path) && is_folder(path);
}

RunFolder RunFolder::open(const std::string& runs_dir, const std::string& run_id,
                          LockSettings lock) {
  check_run_id(run_id);
  require_run(runs_dir + "/" + run_id);
  RunFolder folder(run_id, runs_dir + "/" + run_id, std::move(lock));
  remove_temporaries(folder.path_);
  for (const char* each : kFolders) {
    if (!is_folder(folder.path_ + each)) make_folder(folder.path_ + each);
    remove_temporaries(folder.path_ + each);
  }
  sync_folder(folder.path_);  // the start that created them may have been killed before its sync
  sync_folder(runs_dir);
  return folder;
}

std::string RunFolder::pth_path(const std::string& dataset_name) const {
  const std::string name = dataset_name == "cifar10" ? "cifar" : as_file_name(dataset_name);
  return path_ + "/model/" + name + "_net.pth";
}

std::string RunFolder::tensorboard_path() const {
  const std::string earlier = path_ + kTensorBoard;
  return list_folder(earlier).empty() ? path_ : earlier;
}

std::string RunFolder::rank_metrics_path(int rank) const {
  return path_ + kRanks + rank_file(rank, ".jsonl");
}

std::string RunFolder::rank_trace_path(int rank) const {
  return path_ + "/traces" + rank_file(rank, ".json");
}

void RunFolder::write_config(const std::string& ini) const {
  write_file_atomically(path_ + "/config.ini", ini);
}

void RunFolder::write_network(const std::string& bytes) const {
  write_file_atomically(network_path(), bytes);
}

void RunFolder::write_manifest(const Json& manifest) const {
  write_file_atomically(manifest_path(), dump_any_bytes(manifest, 2) + "\n");
}

Json RunFolder::read_manifest() const { return read_json(manifest_path()); }
Json RunFolder::read_summary() const { return read_json(summary_path()); }

void RunFolder::write_evaluation(const Json& evaluation) const {
  // Not indented: a row of counts is a line's worth.
  write_file_atomically(evaluation_path(), dump_any_bytes(evaluation) + "\n");
}

bool RunFolder::has_evaluation_after(std::uint64_t step) const {
  return number_of(read_json(evaluation_path()), "step") == static_cast<double>(step);
}

void RunFolder::supersede_after(const ResumePoint& point, Superseded& aside,
                                const Touch& touch) const {
  supersede_results_after(point, aside);
  JsonLinesSink::supersede_after(metrics_path(), point, aside, "metrics.jsonl");
  for (const std::string& path : list_folder(path_ + kRanks)) {
    const std::string name = std::filesystem::path(path).filename();
    if (!begins_with(name, kRankFile)) continue;
    call(touch);
    JsonLinesSink::supersede_after(path, point, aside, "ranks/" + name);
  }
}

// The summary first, because its presence means that the run has ended.
void RunFolder::supersede_results_after(const ResumePoint& point, Superseded& aside) const {
  const auto step = static_cast<double>(point.step);
  const auto move = [&aside](const std::string& path, const char* name) {
    if (file_exists(path)) aside.move(path, name);
  };
  if (number_of(read_summary(), "steps") > step) {
    move(summary_path(), "summary.json");
    move(report_path(), "report.html");
  } else {
    remove_if_there(summary_path());
    sync_folder(path_);  // a power failure must not restore the summary
    remove_if_there(report_path());
  }
  const bool is_true_still = number_of(read_json(evaluation_path()), "step") <= step;
  if (!is_true_still) move(evaluation_path(), "evaluation.json");
}

void RunFolder::supersede_model(Superseded& aside) const {
  for (const std::string& path : list_folder(path_ + "/model")) {
    const std::string name = std::filesystem::path(path).filename();
    if (path != network_path()) aside.move(path, "model/" + name);
  }
}

void RunFolder::write_summary(const Json& summary) const {
  write_file_atomically(summary_path(), dump_any_bytes(summary, 2) + "\n");
}

}  // namespace tandem::metrics
