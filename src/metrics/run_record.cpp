#include "tandem/metrics/run_record.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/run_lock.hpp"

namespace tandem::metrics {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;  // evaluation.json of many classes
constexpr char kConfig[] = "/config.ini";
constexpr char kManifest[] = "/manifest.json";

Json read_object(const std::string& path, std::vector<std::string>& faults) {
  try {
    Json json = parse_json_or_discard(read_file(path, kLargestFile));
    if (json.is_object()) return json;
    faults.push_back(path + ": is not one JSON object, or nested too deep");
  } catch (const MissingInputError&) {
    return nullptr;
  } catch (const Error& error) {
    faults.push_back(error.what());
  }
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> read_config(const std::string& path,
                                                             std::vector<std::string>& faults) {
  std::vector<std::pair<std::string, std::string>> config;
  if (!file_exists(path)) return config;
  try {
    for (const std::string& line : split(read_file(path, kLargestFile), '\n')) {
      const std::size_t equals = line.find('=');
      const std::string name = trim(line.substr(0, equals));
      if (name.empty() || name.front() == '#' || equals == std::string::npos) continue;
      config.emplace_back(name, trim(line.substr(equals + 1)));
    }
  } catch (const Error& error) {
    faults.push_back(error.what());
  }
  return config;
}

// 12 of "…/rank-0012.jsonl"; -1 for other files.
int rank_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  constexpr std::string_view kBefore = "rank-";
  constexpr std::string_view kAfter = ".jsonl";
  if (!begins_with(name, kBefore) || !ends_with(name, kAfter)) return -1;
  int rank = -1;
  const char* last = name.data() + name.size() - kAfter.size();
  const auto [end, error] = std::from_chars(name.data() + kBefore.size(), last, rank);
  return error == std::errc() && end == last ? rank : -1;
}

}  // namespace

std::string RunRecord::state() const {
  if (is_damaged && !is_locked) return "damaged";
  if (summary.is_null()) return is_locked ? "running" : "unfinished";
  const std::string reason = text_of(summary, "exit_reason");
  return reason.empty() ? "unfinished" : reason;
}

std::string RunRecord::option(const std::string& name) const {
  for (const auto& [option, value] : config) {
    if (option == name) return value;
  }
  return "";
}

double RunRecord::started() const {
  const Json& segments = member(manifest, "segments");
  return number_of(segments.is_array() && !segments.empty() ? segments.front() : Json(), "started");
}

std::vector<std::pair<int, std::string>> RunRecord::rank_metrics() const {
  std::vector<std::pair<int, std::string>> files;
  for (const std::string& file : list_folder(path + "/ranks")) {
    if (rank_of(file) >= 0) files.emplace_back(rank_of(file), file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_run_folder(const std::string& path) {
  return file_exists(path + kConfig) || file_exists(path + kManifest);
}

RunRecord read_run(const std::string& path) {
  RunRecord run;
  run.path = path;
  while (run.path.size() > 1 && run.path.back() == '/') run.path.pop_back();
  if (!file_exists(run.path)) {
    throw MissingInputError(run.path +
                            ": is not there; the folder of a run is expected, such as "
                            "runs/ID");
  }
  if (!is_run_folder(run.path)) {
    throw DataError(run.path +
                    ": has neither config.ini nor manifest.json; the folder of a run is "
                    "expected, such as runs/ID");
  }
  // The lock first: a run that ends in between then has its summary.
  run.is_locked = RunLock::is_held(run.path);
  run.manifest = read_object(run.path + kManifest, run.faults);
  run.summary = read_object(run.path + "/summary.json", run.faults);
  run.is_damaged = !run.faults.empty();
  run.evaluation = read_object(run.path + "/evaluation.json", run.faults);
  run.config = read_config(run.path + kConfig, run.faults);
  run.run_id = text_of(run.manifest, "run_id");
  if (run.run_id.empty()) run.run_id = std::filesystem::absolute(run.path).filename();
  return run;
}

}  // namespace tandem::metrics
