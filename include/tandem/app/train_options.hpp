// What: the options of `tandem train`, and the configuration they make.
// Owns: nothing. Threads: any. Throws: UsageError with every fault at once.
#pragma once

#include <string>

#include "tandem/app/options.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

OptionTable train_option_table();

// Those that evaluation has too.
OptionSpec precision_option();
OptionSpec channels_last_option();
OptionSpec threads_option();

// What is reported and where, beside what is trained.
struct TrainReporting {
  std::string run_id;  // empty: a new one is made
  std::string runs_dir;
  bool quiet = false;
  bool progress = true;
  bool json = false;
  bool print_config = false;
};

struct TrainRequest {
  train::TrainConfig config;
  TrainReporting reporting;
};

// Reads every option; throws once, with all that is wrong.
TrainRequest read_train_options(Options& options);

// The resolved options as an INI file that --config reads: all but those that name this one run.
std::string to_ini(const Options& options);

}  // namespace tandem::app
