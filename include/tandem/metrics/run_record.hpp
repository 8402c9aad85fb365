// What: a run folder as it is read back: while the run goes on, after it has ended, after it was
// killed. Owns: values, and no lock. Threads: any. Throws: MissingInputError where there is no such
// folder, DataError where it is none of a run; what cannot be read in it is one of its `faults`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tandem/core/json.hpp"

namespace tandem::metrics {

struct RunRecord {
  std::string path;    // as it was given, without slashes at the end
  std::string run_id;  // of the manifest, else the folder's name
  // Null where there is none that can be read; else an object.
  Json manifest;
  Json summary;
  Json evaluation;
  std::vector<std::pair<std::string, std::string>> config;  // option and value
  bool is_locked = false;                                   // some process works in the folder
  std::vector<std::string> faults;

  // "completed", "stopped" or "failed" as its summary says; without one "running", or "unfinished"
  // where nobody is seen to work in the folder.
  std::string state() const;
  // Of its config; empty where there is none.
  std::string option(const std::string& name) const;
  // Unix seconds; not a number where the manifest does not say.
  double started() const;
  std::string metrics_path() const { return path + "/metrics.jsonl"; }
  // By rank.
  std::vector<std::pair<int, std::string>> rank_metrics() const;
};

bool is_run_folder(const std::string& path);
RunRecord read_run(const std::string& path);

}  // namespace tandem::metrics
