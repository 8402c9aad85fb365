// What: the table of commands that main() runs.
// Owns: nothing. Threads: the main thread. Throws: from `run`, the types of core/error.hpp.
#pragma once

#include <string>
#include <vector>

#include "tandem/app/job.hpp"
#include "tandem/app/options.hpp"

namespace tandem::app {

using Arguments = std::vector<std::string>;

struct Command {
  std::string name;
  std::string usage;    // what follows "tandem NAME"
  std::string purpose;  // one line
  std::string example;
  OptionTable options;
  // Exactly one of the two: alone, or as one rank of a job (collective). Both return the exit code.
  int (*run_alone)(const Arguments&);
  int (*run_in_job)(Job&, const Arguments&);
  std::vector<std::string> forms = {};  // all that its first word may be; empty: not such a list
  // In place of run_in_job in each of several processes that cannot find each other by MPI.
  int (*run_lone)(const Arguments&) = nullptr;
};

// In the order of --help.
std::vector<Command> all_commands();

Command pack_command();
Command verify_command();
Command train_command();
Command eval_command();
Command predict_command();
Command export_command();
Command inspect_command();
Command report_command();
Command runs_command();
Command info_command();
Command doctor_command();
Command emit_command();
Command bench_command();

// For commands without MPI: parses and merges the command line.
Options resolve_alone(const Command& command, const Arguments& arguments, bool allow_positional);

}  // namespace tandem::app
