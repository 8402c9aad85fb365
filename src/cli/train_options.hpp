// The options of `tandem train` and the configuration that they make. Throws UsageError with all
// faults at once.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "device_options.hpp"
#include "options.hpp"
#include "plan_options.hpp"
#include "rank_choice.hpp"
#include "tandem/train/checkpoint_rules.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/step_range.hpp"

namespace tandem::app {

// The longest --max-time, and the longest job that `emit` asks for.
inline constexpr int kMaxHours = 100'000;

OptionTable train_option_table();

// The value of --resume with "auto" for "latest", its other name.
std::string normalized_resume(const std::string& text);
// Whether --resume has one of its words, not the path of a checkpoint.
bool is_resume_mode(const std::string& text);

// Reports of a run, besides training.
struct TrainReporting {
  std::string run_id;  // empty: a new one is made
  std::string runs_dir;
  std::string resume;  // "none", "auto" or the path of a checkpoint
  bool new_schedule = false;
  std::uint64_t max_stuck_starts = 0;  // in a row from one step; 0: no limit
  bool quiet = false;
  bool progress = true;
  RankChoice log_ranks;
  bool json = false;
  bool print_config = false;
  bool plan = false;                        // say what the run would be, and stop
  std::optional<PlanTarget> plan_target;    // the hosts that the plan is for; absent: the job's
  std::optional<train::StepRange> profile;  // steps to trace
  double system_interval_seconds = 1;       // 0: never
  std::uint64_t histograms_every = 0;       // epochs; 0: never
  bool views = false;                       // test-time augmentation in the last evaluation
};

struct TrainRequest {
  train::TrainConfig config;
  DeviceOptions device;
  TrainReporting reporting;
  train::CheckpointPolicy checkpoint_policy;
};

// They add faults to `options`.
void read_reporting(Options& options, TrainReporting& reporting);
void read_checkpoint_policy(Options& options, train::CheckpointPolicy& checkpoint_policy);
// Reads every option; throws UsageError with all faults.
TrainRequest read_train_options(Options& options);

// The weaker one of --batch-size and --global-batch-size.
std::string unused_batch_option(const Options& options);

// The resolved options as an INI file for --config, without those that belong to this run only.
// `heading`: a comment that states whether the file repeats the run.
std::string to_ini(const Options& options, const std::string& heading =
                                               "tandem train --config of this file repeats the "
                                               "run.");
// The options in that file.
std::map<std::string, std::string> options_of_ini(const Options& options);

}  // namespace tandem::app
