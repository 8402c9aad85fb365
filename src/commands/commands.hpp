// The commands of the program. run() (run.hpp) calls one of them and turns the errors that it
// throws (core/error.hpp) into a message and an exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "session/job.hpp"

namespace tandem::app {

struct Command {
  std::string name;
  std::string usage;    // what follows "tandem NAME"
  std::string purpose;  // one line
  std::string example;
  OptionTable options;
  // One of the two: alone, or as one rank of a job (collective). Both return the exit code. With
  // both, the command runs alone if the option `alone_with` is given, or its variable is set and no
  // launcher started it. With `together_with`, the command runs in a job only if a launcher started
  // it and that option is given or its variable is set.
  int (*run_alone)(const Arguments&);
  int (*run_in_job)(Job&, const Arguments&);
  std::vector<std::string> forms = {};  // allowed values of the first word; empty: any
  // Runs instead of run_in_job in each of several processes that MPI did not connect.
  int (*run_unconnected)(const Arguments&) = nullptr;
  std::vector<std::string> first_options = {};  // names; --help begins with them
  std::string alone_with = {};
  std::string together_with = {};
};

// In the order of --help.
std::vector<Command> all_commands();

Command demo_command();
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

// `tandem doctor --hosts`: tests the hosts that --hosts names. If no finding is an error, runs the
// doctor on them by mpirun. Returns the exit code.
int run_doctor_of_hosts(const Arguments& arguments);

// Parses and merges the command line of a command without MPI.
Options resolve_alone(const Command& command, const Arguments& arguments, bool allow_positional);

// A line below the last message of a command that fails: the lines that mpirun prints after it only
// repeat the exit code. "" if the launcher prints none.
std::string note_of_mpirun();

}  // namespace tandem::app
