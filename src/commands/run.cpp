// Finds and runs a command. The only place that turns errors into messages and exit codes.
#include "run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

#include "cli/option_hints.hpp"
#include "cli/stall_options.hpp"
#include "diagnose/doctor_facts.hpp"
#include "diagnose/doctor_judge.hpp"
#include "diagnose/host_agent.hpp"
#include "self_description.hpp"
#include "session/cuda_build.hpp"
#include "session/launcher_check.hpp"
#include "session/start_up_watch.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/comm/launcher.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"

namespace tandem::app {
namespace {

std::string overview() {
  std::vector<std::vector<std::string>> rows;
  for (const Command& command : all_commands())
    rows.push_back({"  " + command.name, command.purpose});
  return "usage: tandem COMMAND [options]     tandem help COMMAND     tandem --version\n\n"
         "Trains image classifiers on several ranks: mpirun -np 2 tandem train --data FILE.h5\n\n"
         "commands:\n" +
         format_table(rows);
}

std::string help_of(const Command& command) {
  const std::string forms =
      command.forms.empty() ? "" : "\n" + fold("FORM is one of " + join(command.forms, ", ") + ".");
  return help_text("tandem " + command.name + " " + command.usage, command.purpose + "." + forms,
                   command.options, command.example, command.first_options);
}

// Words that users take for commands, and their counterparts; nullptr: unknown.
const char* counterpart_of(const std::string& word) {
  if (word == "plan") return "train --plan";
  if (word == "resume") return "train --resume auto";
  if (word == "man") return "emit man";
  return word == "completion" ? "emit bash-completion or emit zsh-completion" : nullptr;
}

Command find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  if (const char* ours = counterpart_of(name)) {
    throw UsageError("'" + name + "' is not a command; use tandem " + ours);
  }
  names.insert(names.end(), {"--help", "--version"});
  const auto suggestion = nearest(name, names);
  throw UsageError(
      "'" + name + "' is not a command" +
      (suggestion ? "; did you mean " + *suggestion + "?" : "; tandem --help lists them"));
}

// The last message of a rank. mpirun's own lines come after it, because it prints them once the
// rank has ended.
void report_failure(const std::string& message) { print_error(message + note_of_mpirun()); }

// The rank that fails first reports the error. If all fail alike, the others give it this time to
// end them. The launcher may send a signal to end the job after another rank's error; then a rank
// waits for the longest time.
constexpr auto kTimeToBeEnded = std::chrono::milliseconds(200);
constexpr int kMaxTurns = 10;

// An AgreedError reaches all ranks, so rank 0 prints it, and all return its code.
int run_together(const Command& command, Job& job, const Arguments& arguments) {
  try {
    return command.run_in_job(job, arguments);
  } catch (const comm::AgreedError& error) {
    if (job.is_root()) report_failure(error.what());
    return static_cast<int>(error.code());
  }
}

// Runs one command in a process that has started MPI. Creates `supervision`, which takes over from
// `start_up`.
int run_as_rank(const Command& command, const Arguments& arguments, const comm::Runtime& runtime,
                comm::StallLimits limits, std::optional<StartUpWatch>& start_up,
                std::optional<Supervision>& supervision) {
  const int rank = runtime.rank();
  try {
    if (command.run_unconnected == nullptr) require_launcher_of_this_mpi(runtime.world());
    Job job(supervision, limits);
    start_up.reset();
    const int code = run_together(command, job, arguments);
    job.end();
    return code;
  } catch (const std::exception& error) {
    const int code = static_cast<int>(code_of(error));
    if (runtime.world() == 1) {
      report_failure(message_of(error));
      if (supervision) supervision->leave_mpi();
      return code;
    }
    const bool may_be_launchers = code > kSignalBase && rank > 0;
    const int turns = may_be_launchers ? kMaxTurns : std::min(rank, kMaxTurns);
    std::this_thread::sleep_for(turns * kTimeToBeEnded);
    report_failure("rank " + std::to_string(rank) + " (" + comm::host_name() +
                   "): " + message_of(error));
    comm::Runtime::abort(code);
  }
}

// From MPI_Init to MPI_Finalize.
int run_with_mpi(const Command& command, const Arguments& arguments,
                 std::optional<Supervision>& supervision) {
  const comm::StallLimits limits = early_stall_limits(arguments);
  std::optional<StartUpWatch> start_up(limits);
  require_launcher_before_mpi();
  const comm::Runtime runtime;
  return run_as_rank(command, arguments, runtime, limits, start_up, supervision);
}

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help";
}

void refuse_words(const Arguments& words, std::size_t first, const std::string& after) {
  if (words.size() <= first) return;
  throw UsageError("'" + words[first] + "' was not expected after tandem " + after +
                   "; tandem --help lists the commands");
}

// The output of "tandem help WORDS": of all commands, or of one command, with or without its form.
std::string help_for(const Arguments& words) {
  if (words.empty() || asks_for_help(words.front())) {
    refuse_words(words, 1, "help");
    return overview();
  }
  const Command command = find_command(words.front());
  const bool has_form =
      words.size() > 1 && std::count(command.forms.begin(), command.forms.end(), words[1]) > 0;
  refuse_words(words, has_form ? 2 : 1, "help " + command.name);
  return help_of(command);
}

// The output of help and version requests; absent for other command lines.
std::optional<std::string> self_description(const Arguments& arguments) {
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  const Arguments rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (asks_for_help(first)) return help_for(rest) + "\n";
  if (first == "--version") {
    refuse_words(rest, 0, first);
    return "tandem " + version() + " (" + source_version() + ", " + build_summary() +
           ", libtorch " + libtorch_of_build() +
           ", GPU libraries: " + comm::describe_gpu_libraries() + ")\n";
  }
  if (first != "__complete") return std::nullopt;
  std::string lines;
  for (const Candidate& each : complete(all_commands(), rest)) {
    lines += each.word + "\t" + each.help + "\n";
  }
  return lines;
}

// Without this warning, a misspelled variable would silently leave the default in force.
void warn_of_mistyped_variables() {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    for (const OptionSpec& spec : command.options) {
      for (const std::string& name : names_of(spec)) names.push_back(name);
    }
  }
  for (const std::string& warning : mistyped_variables(names)) print_warning(warning);
}

// A rank may inherit the variable of the option from the process that started the job.
bool runs_alone(const Command& command, Arguments words) {
  if (command.run_in_job == nullptr) return true;
  const auto has_variable = [](const std::string& option) {
    const char* value = std::getenv(environment_variable(option).c_str());
    return value != nullptr && *value != '\0';
  };
  if (!command.together_with.empty()) {
    const std::string& option = command.together_with;
    return !is_launched() || (take_option(words, option).empty() && !has_variable(option));
  }
  if (command.alone_with.empty()) return false;
  if (!take_option(words, command.alone_with).empty()) return true;
  return has_variable(command.alone_with) && !is_launched();
}

using RunInJob = std::function<int(const Command&, const Arguments&)>;

int run_line(const Arguments& arguments, const RunInJob& run_in_job) {
  const bool prints = comm::launcher_rank() == 0;  // without MPI only one process works and prints
  try {
    if (const auto text = self_description(arguments)) {
      if (prints) print_bytes(*text);
      return static_cast<int>(arguments.empty() ? ExitCode::kUsage : ExitCode::kDone);
    }
    const Arguments rest(arguments.begin() + 1, arguments.end());
    if (arguments.front() == kHostAgent) return run_host_agent(rest);
    const Command command = find_command(arguments.front());
    const std::array<std::string, 2> help{"--help", "-h"};
    const auto options_end = std::find(rest.begin(), rest.end(), "--");
    if (std::find_first_of(rest.begin(), options_end, help.begin(), help.end()) != options_end) {
      if (prints) print_line(help_of(command));
      return 0;
    }
    if (prints) warn_of_mistyped_variables();
    if (runs_alone(command, rest)) return prints ? command.run_alone(rest) : 0;
    if (is_started_without_pmi()) {
      if (command.run_unconnected != nullptr) return command.run_unconnected(rest);
      if (prints) print_warning(lone_ranks(launched_ranks(), 0).text());
    }
    return run_in_job(command, rest);
  } catch (const std::exception& error) {
    if (prints) report_failure(message_of(error));
    return static_cast<int>(code_of(error));
  }
}

}  // namespace

int run(const Arguments& arguments) {
  return run_line(arguments, [](const Command& command, const Arguments& words) {
    std::optional<Supervision> supervision;  // outlives MPI, because it also watches MPI_Finalize
    const int code = run_with_mpi(command, words, supervision);
    if (supervision) supervision->await_ranks_of_host();
    return code;
  });
}

int run(const Arguments& arguments, const comm::Runtime& runtime) {
  return run_line(arguments, [&](const Command& command, const Arguments& words) {
    const comm::StallLimits limits = early_stall_limits(words);
    std::optional<Supervision> supervision;
    std::optional<StartUpWatch> start_up(limits);
    return run_as_rank(command, words, runtime, limits, start_up, supervision);
  });
}

}  // namespace tandem::app
