#include "launch.hpp"

#include <algorithm>

#include "cli/train_options.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// Time for the step under way and the checkpoint: Slurm's signal comes so long before the limit,
// and mpirun, which kills a second after SIGTERM, is told to wait. It then waits twice as long
// after every exit code but 0, too, so this is short.
constexpr auto kSecondsBeforeLimit = "120";
constexpr auto kSecondsBeforeKill = "5";

// "n1:4,n2:2"
std::string host_list(const Launch& launch) {
  const std::string ranks = ":" + std::to_string(launch.ranks_per_node);
  if (launch.hosts.empty()) return "localhost" + ranks;
  std::vector<std::string> hosts;
  for (const std::string& host : launch.hosts) {
    hosts.push_back(host.find(':') == std::string::npos ? host + ranks : host);
  }
  return join(hosts, ",");
}

std::uint64_t ranks_in(const std::string& hosts) {
  std::uint64_t ranks = 0;
  for (const std::string& host : split(hosts, ',')) {
    ranks += std::stoull(host.substr(host.find(':') + 1));
  }
  return ranks;
}

// "tandem train …", in a container where there is an image. Open MPI copies between the ranks of
// a node by a system call that containers often forbid.
std::vector<std::string> program(const Launch& launch) {
  std::vector<std::string> words;
  if (!launch.image.empty()) {
    words = {"apptainer", "exec"};
    if (launch.gpus_per_node > 0) words.push_back("--nv");
    words.insert(words.end(), {"--env", "OMPI_MCA_btl_vader_single_copy_mechanism=none",
                               shell_word(launch.image)});
  }
  words.insert(words.end(), {shell_word(launch.program), "train"});
  return words;
}

bool gives(const std::vector<std::string>& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == option || word.rfind(option + "=", 0) == 0;
  });
}

// The options as they were given, after the data set where they don't name one.
std::vector<std::string> options_of(const Launch& launch) {
  std::vector<std::string> words;
  if (!gives(launch.train_options, "--data")) words = {"--data", "\"$TANDEM_DATA\""};
  for (const std::string& word : launch.train_options) words.push_back(shell_word(word));
  return words;
}

std::string directive(const std::string& name, std::uint64_t count) {
  return count == 0 ? "" : "#SBATCH --" + name + "=" + std::to_string(count) + "\n";
}

}  // namespace

std::string Launch::resume_mode() const {
  Arguments words = train_options;
  const std::vector<std::string> modes = take_option(words, "resume");
  return modes.empty() ? "auto" : normalized_resume(modes.back());
}

std::string mpirun_line(const Launch& launch) {
  const bool binds = launch.cpus_per_rank > 0;
  const std::string hosts = host_list(launch);
  std::vector<std::string> words = {
      "mpirun",
      "-np",
      std::to_string(ranks_in(hosts)),
      "--host",
      shell_word(hosts),
      "--map-by",
      binds ? "slot:PE=" + std::to_string(launch.cpus_per_rank) : "slot",
      "--bind-to",
      binds ? "core" : "none",
      "--mca",
      "odls_base_sigkill_timeout",
      kSecondsBeforeKill};
  // If the link to a host fails, mpirun would wait 15 minutes for the kernel to notice.
  if (!launch.hosts.empty()) {
    words.insert(words.end(),
                 {"--mca", "oob_tcp_keepalive_time", "20", "--mca", "oob_tcp_keepalive_intvl", "5",
                  "--mca", "oob_tcp_keepalive_probes", "3"});
  }
  for (const auto& more : {program(launch), options_of(launch)}) {
    words.insert(words.end(), more.begin(), more.end());
  }
  return join(words, " ");
}

std::string sbatch_script(const Launch& launch) {
  // A rank that ends with a code of its own keeps it, and the others have ten seconds to follow;
  // where the site sets KillOnBadExit, srun would else kill them at once and answer 143. A rank
  // that was killed still ends the step.
  std::vector<std::string> srun = {"srun", "--mpi=pmix", "--kill-on-bad-exit=0", "--wait=10"};
  // srun does not take the job's value since Slurm 22.05.
  if (launch.cpus_per_rank > 0) {
    srun.push_back("--cpus-per-task=" + std::to_string(launch.cpus_per_rank));
  }
  for (const auto& more : {program(launch), options_of(launch)}) {
    srun.insert(srun.end(), more.begin(), more.end());
  }
  if (!gives(launch.train_options, "--resume")) {
    srun.insert(srun.end(), {"--resume", "auto"});
  }
  srun.push_back("\"$@\"");

  std::string script =
      "#!/bin/bash\n"
      "# Submit this file with sbatch; words after its name go to `tandem train`. It leaves\n"
      "# runs/job-NUMBER and slurm-NUMBER.out in the folder from which it is submitted.\n"
      "#SBATCH --job-name=tandem\n";
  script += directive("nodes", launch.nodes);
  script += directive("ntasks-per-node", launch.ranks_per_node);
  script += directive("cpus-per-task", launch.cpus_per_rank);
  script += directive("gpus-per-node", launch.gpus_per_node);
  if (!launch.time_limit.empty()) script += "#SBATCH --time=" + launch.time_limit + "\n";
  script += std::string("#SBATCH --signal=USR1@") + kSecondsBeforeLimit + "\n";
  const bool resumes = launch.resume_mode() == "auto";
  script += resumes ? "#SBATCH --requeue\n" : "#SBATCH --no-requeue\n";
  script +=
      "#SBATCH --open-mode=append\n"
      "set -euo pipefail\n"
      "# Modules and paths of the site, where it has such a file.\n"
      "# shellcheck source=/dev/null\n"
      "[ -z \"${TANDEM_SITE:-}\" ] || source \"$TANDEM_SITE\"\n";
  if (!gives(launch.train_options, "--data")) {
    script += ": \"${TANDEM_DATA:?export it before sbatch; it names the packed data set}\"\n";
  }
  script += "export TANDEM_RUN_ID=\"${TANDEM_RUN_ID:-job-$SLURM_JOB_ID}\"\n";
  script += "trap : USR1  # where it comes to this shell too, which has to outlive it\n\n";
  script += "code=0\n" + join(srun, " ") + " || code=$?\n";
  if (!resumes || launch.most_requeues == 0) return script + "exit \"$code\"";
  script += "# 75: stopped before it was done; it goes on where it was.\n";
  script += "if [ \"$code\" = 75 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt " +
            std::to_string(launch.most_requeues) + " ]; then\n";
  script += "  scontrol requeue \"$SLURM_JOB_ID\" || exit \"$code\"\nfi\nexit \"$code\"";
  return script;
}

}  // namespace tandem::app
