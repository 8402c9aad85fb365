// Slurm: srun starts the ranks, and Slurm counts how often a job was requeued.
#include "script.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// Time for the step under way and the checkpoint.
constexpr auto kSecondsBeforeLimit = "120";

std::string slurm_directives(const Launch& launch) {
  std::string text =
      "#!/bin/bash\n"
      "# Submit this file with sbatch; words after its name go to `tandem train`. It leaves\n"
      "# runs/job-NUMBER and slurm-NUMBER.out in the folder from which it is submitted.\n"
      "#SBATCH --job-name=tandem\n";
  text += directive("#SBATCH --account=", launch.account);
  text += directive("#SBATCH --partition=", launch.partition);
  text += directive("#SBATCH --array=", launch.array);
  text += directive("#SBATCH --nodes=", launch.nodes);
  if (launch.ranks_of_nodes.empty()) {
    text += directive("#SBATCH --ntasks-per-node=", launch.ranks_per_node);
  } else {
    text += "#SBATCH --exclusive\n";
  }
  text += directive("#SBATCH --cpus-per-task=", launch.cpus_per_rank);
  text += directive("#SBATCH --gpus-per-node=", launch.gpus_per_node);
  text += directive("#SBATCH --mem=", launch.mebibytes_per_node, "M");
  text += directive("#SBATCH --time=", launch.time_limit);
  text += directive("#SBATCH --output=", launch.output);
  text += std::string("#SBATCH --signal=USR1@") + kSecondsBeforeLimit + "\n";
  text += launch.resume_mode() == "auto" ? "#SBATCH --requeue\n" : "#SBATCH --no-requeue\n";
  return text + "#SBATCH --open-mode=append\n";
}

// Sets `layout`: the host of each rank. The larger numbers of ranks go to hosts with more CPUs.
std::string layout(const Launch& launch) {
  if (launch.ranks_of_nodes.empty()) return "";
  std::vector<std::string> ranks;
  for (const std::uint64_t each : launch.ranks_of_nodes) ranks.push_back(std::to_string(each));
  return R"(
# A line for each node, such as "4 n1", from the numbers of CPUs, such as 4(x2),2(x2), and the names.
sizes_and_nodes() {
  local part count
  paste -d' ' <(
    for part in ${SLURM_JOB_CPUS_PER_NODE//,/ }; do
      [[ $part =~ ^([0-9]+)(\(x([0-9]+)\))?$ ]]
      for ((count = ${BASH_REMATCH[3]:-1}; count > 0; --count)); do echo "${BASH_REMATCH[1]}"; done
    done
  ) <(scontrol show hostnames "$SLURM_JOB_NODELIST")
}
mapfile -t ranks < <(printf '%s\n' )" +
         join(ranks, " ") + R"( | sort -nr)
mapfile -t nodes < <(sizes_and_nodes | sort -s -nr | cut -d' ' -f2)
layout=()
for i in "${!nodes[@]}"; do
  for ((rank = 0; rank < ranks[i]; ++rank)); do layout+=("${nodes[i]}"); done
done
)";
}

std::vector<std::string> srun_words(const Launch& launch) {
  // A rank that ends with a code of its own keeps it, and the others have ten seconds to follow. If
  // the site sets KillOnBadExit, srun would otherwise kill them at once and return 143. A rank that
  // was killed still ends the step.
  std::vector<std::string> words = {"srun", std::string("--mpi=") + launch.launcher.srun_mpi,
                                    "--kill-on-bad-exit=0", "--wait=10"};
  // srun does not take the job's value since Slurm 22.05.
  if (launch.cpus_per_rank > 0) {
    words.push_back("--cpus-per-task=" + std::to_string(launch.cpus_per_rank));
  }
  if (!launch.ranks_of_nodes.empty()) {
    words.insert(words.end(), {"--distribution=arbitrary", "--ntasks=\"${#layout[@]}\"",
                               "--nodelist=\"$(IFS=, && echo \"${layout[*]}\")\""});
  }
  for (const std::string& word : job_words(launch, "$SLURM_ARRAY_TASK_ID")) {
    words.push_back(word);
  }
  words.push_back("\"$@\"");
  return words;
}

}  // namespace

std::string sbatch_script(const Launch& launch) {
  const std::string job = launch.array.empty() ? "$SLURM_JOB_ID" : "$SLURM_ARRAY_JOB_ID";
  std::string script = slurm_directives(launch);
  script += prologue(launch, {"export it before sbatch", job, "$SLURM_ARRAY_TASK_ID"});
  script += "trap : USR1  # where it comes to this shell too, which has to outlive it\n";
  script += layout(launch) + "\n";
  script += "code=0\n" + join(srun_words(launch), " ") + " || code=$?\n";
  if (launch.resume_mode() != "auto" || launch.most_requeues == 0) return script + "exit \"$code\"";
  script += "# 75: the run stopped early; it resumes in the next start.\n";
  script += "if [ \"$code\" = 75 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt " +
            std::to_string(launch.most_requeues) + " ]; then\n";
  script += "  scontrol requeue \"$SLURM_JOB_ID\" || exit \"$code\"\nfi\nexit \"$code\"";
  return script;
}

}  // namespace tandem::app
