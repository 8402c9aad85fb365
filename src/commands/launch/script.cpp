#include "script.hpp"

#include <cstdlib>
#include <numeric>

#include "cli/train_options.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// A container often forbids the system call by which MPI copies between ranks of a host.
std::vector<std::string> program(const Launch& launch) {
  std::vector<std::string> words;
  if (!launch.image.empty()) {
    words = {"apptainer", "exec"};
    if (launch.gpus_per_node > 0) words.push_back("--nv");
    words.insert(words.end(),
                 {"--env", launch.launcher.no_process_reads, shell_word(launch.image)});
  }
  words.insert(words.end(), {shell_word(launch.program), "train"});
  return words;
}

}  // namespace

bool gives(std::vector<std::string> words, const std::string& option) {
  return !take_option(words, option).empty();
}

std::vector<std::string> train_words(const Launch& launch) {
  std::vector<std::string> words = program(launch);
  if (!gives(launch.train_options, "data")) {
    words.insert(words.end(), {"--data", "\"$TANDEM_DATA\""});
  }
  for (const std::string& word : launch.train_options) words.push_back(shell_word(word));
  return words;
}

std::vector<std::string> job_words(const Launch& launch, const std::string& task) {
  std::vector<std::string> words = train_words(launch);
  if (!gives(launch.train_options, "resume")) {
    words.insert(words.end(), {"--resume", "auto"});
  }
  if (!launch.array.empty()) words.insert(words.end(), {"--seed", "\"" + task + "\""});
  if (launch.max_time > 0 && !gives(launch.train_options, "max-time")) {
    words.insert(words.end(), {"--max-time", std::to_string(launch.max_time)});
  }
  return words;
}

std::vector<std::string> words_on_hosts_of(const Launch& launch, const std::string& host_file,
                                           const std::string& task) {
  comm::LaunchLine line;
  line.ranks = launch.ranks();
  line.host_file = host_file;
  line.ranks_per_host = launch.ranks_of_nodes.empty() ? launch.ranks_per_node : 0;
  line.cpus_per_rank = launch.cpus_per_rank;
  line.leaves_host = launch.nodes > 1;
  std::vector<std::string> words = launch.launcher.words(line);
  for (const std::string& word : job_words(launch, task)) words.push_back(word);
  return words;
}

std::string directive(const std::string& start, std::uint64_t value, const std::string& end) {
  return value == 0 ? "" : start + std::to_string(value) + end + "\n";
}

std::string directive(const std::string& start, const std::string& value) {
  return value.empty() ? "" : start + value + "\n";
}

std::string prologue(const Launch& launch, const JobNames& names) {
  std::string text =
      "set -euo pipefail\n"
      "# Modules and paths of the site, where it has such a file.\n"
      "# shellcheck source=/dev/null\n"
      "[ -z \"${TANDEM_SITE:-}\" ] || source \"$TANDEM_SITE\"\n";
  if (!gives(launch.train_options, "data")) {
    text += ": \"${TANDEM_DATA:?" + names.submit + "; it names the packed data set}\"\n";
  }
  text += "export TANDEM_RUN_ID=\"${TANDEM_RUN_ID:-job-" + names.job + "}";
  text += launch.array.empty() ? "\"\n" : "-seed-" + names.task + "\"\n";
  if (launch.resume_mode() == "auto") {
    text +=
        "# Starts without a new checkpoint, after which the next one ends with 70.\n"
        "export TANDEM_MAX_STUCK_STARTS=\"${TANDEM_MAX_STUCK_STARTS:-3}\"\n";
  }
  return text;
}

std::string run_below_shell(const std::vector<std::string>& words) {
  return "# The signals of the batch system stop the run with a checkpoint. This shell outlives "
         "them.\n"
         "launcher=\"\" signals=0\n"
         "trap 'signals=$((signals + 1)); kill -USR1 $launcher 2> /dev/null || :' USR1 USR2 TERM "
         "INT\n" +
         join(words, " ") +
         " &\n"
         "launcher=$!\n"
         "[ \"$signals\" = 0 ] || kill -USR1 \"$launcher\" 2> /dev/null || :\n"
         "while :; do\n"
         "  before=$signals code=0\n"
         "  wait \"$launcher\" || code=$?\n"
         "  [ \"$signals\" != \"$before\" ] || break  # else only `wait` was interrupted\n"
         "done\n";
}

std::string submit_again(const Launch& launch, const std::string& submit) {
  if (launch.resume_mode() != "auto" || launch.most_requeues == 0 || !launch.array.empty()) {
    return "";
  }
  return "# 75: the run stopped early; it resumes in the next start. TANDEM_JOB_SCRIPT names this "
         "file, because the\n"
         "# batch system runs a copy of it.\n"
         "restarts=${TANDEM_RESTARTS:-0}\n"
         "if [ \"$code\" = 75 ] && [ \"$restarts\" -lt " +
         std::to_string(launch.most_requeues) +
         " ]; then\n"
         "  if [ -n \"${TANDEM_JOB_SCRIPT:-}\" ]; then\n"
         "    export TANDEM_RESTARTS=$((restarts + 1))\n"
         "    " +
         submit +
         " || exit \"$code\"\n"
         "  else\n"
         "    echo \"stopped early: submit this script again with TANDEM_RUN_ID=$TANDEM_RUN_ID\"\n"
         "  fi\n"
         "fi\n";
}

std::string Launch::resume_mode() const {
  Arguments words = train_options;
  const std::vector<std::string> modes = take_option(words, "resume");
  return modes.empty() ? "auto" : normalized_resume(modes.back());
}

std::uint64_t Launch::ranks() const {
  std::uint64_t of_hosts = 0;
  for (const std::string& host : hosts) {
    const std::size_t colon = host.find(':');
    of_hosts += colon == std::string::npos ? ranks_per_node
                                           : std::strtoull(host.c_str() + colon + 1, nullptr, 10);
  }
  if (!hosts.empty()) return of_hosts;
  if (ranks_of_nodes.empty()) return nodes * ranks_per_node;
  return std::accumulate(ranks_of_nodes.begin(), ranks_of_nodes.end(), std::uint64_t{0});
}

}  // namespace tandem::app
