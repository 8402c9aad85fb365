// IBM Spectrum LSF 10.1. It requeues a job by its exit code; the queue's MAX_JOB_REQUEUE says how
// often.
#include <algorithm>

#include "script.hpp"

namespace tandem::app {
namespace {

constexpr auto kMinutesBeforeLimit = "2";

// The name of an array lists its tasks; in "tandem[1-5]%2" at most two of the five run at a time.
std::string job_name(const std::string& array) {
  if (array.empty()) return "tandem";
  const std::size_t tasks = std::min(array.find('%'), array.size());
  return "\"tandem[" + array.substr(0, tasks) + "]" + array.substr(tasks) + "\"";
}

std::string lsf_directives(const Launch& launch) {
  std::string text =
      "#!/bin/bash\n"
      "# Submit this file with bsub < FILE. It leaves runs/job-NUMBER and tandem-NUMBER.out in "
      "the\n"
      "# folder from which it is submitted.\n";
  text += "#BSUB -J " + job_name(launch.array) + "\n";
  text += directive("#BSUB -P ", launch.account);
  text += directive("#BSUB -q ", launch.partition);
  text += directive("#BSUB -n ", launch.ranks());
  text += directive("#BSUB -R \"span[ptile=", launch.ranks_per_node, "]\"");
  text += directive("#BSUB -R \"affinity[core(", launch.cpus_per_rank, ")]\"");
  text += directive("#BSUB -R \"rusage[mem=", launch.mebibytes_per_node, "MB/host]\"");
  text += directive("#BSUB -gpu \"num=", launch.gpus_per_node, "\"");
  if (launch.seconds_limit > 0) {
    const std::uint64_t minutes = (launch.seconds_limit + 59) / 60;
    text += "#BSUB -W " + std::to_string(minutes) + "\n#BSUB -wa USR1 -wt " + kMinutesBeforeLimit +
            "\n";
  }
  const std::string output = launch.array.empty() ? "tandem-%J.out" : "tandem-%J-%I.out";
  text += "#BSUB -o " + (launch.output.empty() ? output : launch.output) + "\n";
  if (launch.resume_mode() == "auto") {
    // 75: the run stopped early; it resumes in the next start.
    text += "#BSUB -r\n#BSUB -Q \"75\"\n";
  }
  return text;
}

}  // namespace

std::string lsf_script(const Launch& launch) {
  std::string script = lsf_directives(launch);
  script += prologue(launch, {"export it before bsub", "$LSB_JOBID", "$LSB_JOBINDEX"}) + "\n";
  return script +
         run_below_shell(words_on_hosts_of(launch, "\"$LSB_DJOB_HOSTFILE\"", "$LSB_JOBINDEX")) +
         "exit \"$code\"";
}

}  // namespace tandem::app
