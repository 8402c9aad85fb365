#include "resume_command.hpp"

#include <vector>

#include "tandem/comm/launchers.hpp"
#include "tandem/core/text.hpp"
#include "train_options.hpp"

namespace tandem::app {
namespace {

std::string launcher_words(int ranks) {
  std::string start = comm::start_of_process();
  if (start.empty() && ranks > 1) start = "mpirun -np ";
  return start.empty() ? "" : start + std::to_string(ranks) + " ";
}

std::string command_of(const std::string& program, const Arguments& words) {
  std::string command = program + " train";
  for (const std::string& word : words) command += " " + shell_word(word);
  return command;
}

}  // namespace

std::string program_words(int ranks) {
  return launcher_words(ranks) + shell_word(program_invocation_name);
}

std::string resume_command(const std::string& program, Arguments words, const std::string& run_id,
                           const std::string& runs_dir) {
  const std::vector<std::string> resume = take_option(words, "resume");
  take_option(words, "run-id");
  // The path of a checkpoint determines the folder of its run; --runs-dir has no effect then.
  const bool is_path = !resume.empty() && !is_resume_mode(resume.back());
  if (is_path) take_option(words, "runs-dir");
  std::string command = command_of(program, words);
  if (is_path) command += " --runs-dir " + shell_word(runs_dir);
  return command + " --run-id " + shell_word(run_id) + " --resume auto";
}

std::string new_run_command(const std::string& program, Arguments words,
                            const std::string& checkpoint) {
  for (const char* name : {"resume", "run-id", "init-from"}) take_option(words, name);
  return command_of(program, words) + " --init-from " + shell_word(checkpoint);
}

}  // namespace tandem::app
