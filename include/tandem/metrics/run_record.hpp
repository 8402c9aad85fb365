// Reads a run folder while the run goes on, after it ended, or after it was killed. Takes no lock.
// Throws MissingInputError if the folder is missing, DataError if it belongs to no run; files that
// cannot be read are listed in `faults`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tandem/core/json.hpp"

namespace tandem::metrics {

// Moving a Json throws nothing; clang-tidy does not detect that.
struct RunRecord {     // NOLINT(bugprone-exception-escape)
  std::string path;    // as it was given, without slashes at the end
  std::string run_id;  // of the manifest, else the folder's name
  // Null if it cannot be read; else an object.
  Json manifest;
  Json summary;
  Json evaluation;
  std::vector<std::pair<std::string, std::string>> config;  // option and value
  bool is_locked = false;                                   // some process works in the folder
  bool is_damaged = false;  // the manifest or the summary is there and cannot be read
  std::vector<std::string> faults;

  // The state in its summary: "completed", "stopped" or "failed". Without a summary "running", or
  // "unfinished" if no process holds the folder. "damaged" without a process if is_damaged.
  std::string state() const;
  // An option of its config; empty if absent.
  std::string option(const std::string& name) const;
  // Unix seconds; NaN if the manifest has none.
  double started() const;
  std::string metrics_path() const { return path + "/metrics.jsonl"; }
  // Paths of the ranks' metrics, by rank.
  std::vector<std::pair<int, std::string>> rank_metrics() const;
};

bool is_run_folder(const std::string& path);
RunRecord read_run(const std::string& path);

}  // namespace tandem::metrics
