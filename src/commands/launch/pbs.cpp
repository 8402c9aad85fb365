// PBS Professional and OpenPBS. Only operators may requeue a job there, so a job that stopped early
// submits its script again.
#include <algorithm>

#include "script.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// "2:ncpus=32:mpiprocs=4:mem=16384mb": the number of hosts, and the resources of each.
std::string chunk(const Launch& launch, std::uint64_t hosts, std::uint64_t ranks) {
  const std::uint64_t cores = ranks * std::max<std::uint64_t>(launch.cpus_per_rank, 1);
  std::string text = std::to_string(hosts) + ":ncpus=" + std::to_string(cores) +
                     ":mpiprocs=" + std::to_string(ranks);
  if (launch.gpus_per_node > 0) text += ":ngpus=" + std::to_string(launch.gpus_per_node);
  if (launch.mebibytes_per_node > 0) {
    text += ":mem=" + std::to_string(launch.mebibytes_per_node) + "mb";
  }
  return text;
}

std::string selection(const Launch& launch) {
  if (launch.ranks_of_nodes.empty()) return chunk(launch, launch.nodes, launch.ranks_per_node);
  std::vector<std::string> chunks;
  for (const std::uint64_t ranks : launch.ranks_of_nodes) {
    chunks.push_back(chunk(launch, 1, ranks));
  }
  return join(chunks, "+");
}

// "01:30:00"
std::string wall_time(std::uint64_t seconds) {
  const auto two = [](std::uint64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  return two(seconds / 3600) + ":" + two(seconds / 60 % 60) + ":" + two(seconds % 60);
}

}  // namespace

std::string pbs_script(const Launch& launch) {
  std::string script =
      "#!/bin/bash\n"
      "# Submit this file with qsub. It leaves runs/job-NUMBER in the folder from which it is\n"
      "# submitted. To let it continue by itself after its time limit:\n"
      "#   qsub -v TANDEM_DATA=FILE.h5,TANDEM_JOB_SCRIPT=THIS_FILE THIS_FILE\n"
      "#PBS -N tandem\n";
  script += directive("#PBS -A ", launch.account);
  script += directive("#PBS -q ", launch.partition);
  script += directive("#PBS -J ", launch.array);
  script += "#PBS -l select=" + selection(launch) + "\n#PBS -l place=scatter\n";
  if (launch.seconds_limit > 0) {
    script += "#PBS -l walltime=" + wall_time(launch.seconds_limit) + "\n";
  }
  script += "#PBS -j oe\n" + directive("#PBS -o ", launch.output);
  script += launch.resume_mode() == "auto" ? "#PBS -r y\n" : "#PBS -r n\n";
  script += prologue(launch, {"submit with qsub -v TANDEM_DATA=FILE.h5", "${PBS_JOBID%%[!0-9]*}",
                              "$PBS_ARRAY_INDEX"});
  script += "cd \"$PBS_O_WORKDIR\"\n\n";

  script += run_below_shell(words_on_hosts_of(launch, "\"$PBS_NODEFILE\"", "$PBS_ARRAY_INDEX"));
  // By their names, so that values may have commas.
  script += submit_again(launch,
                         "qsub -v \"$(compgen -e TANDEM_ | paste -sd, -)\" \"$TANDEM_JOB_SCRIPT\"");
  return script + "exit \"$code\"";
}

}  // namespace tandem::app
