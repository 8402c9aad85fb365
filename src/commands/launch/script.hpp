// The parts that the job scripts share. Each returns whole lines.
#pragma once

#include <string>
#include <vector>

#include "commands/launch.hpp"

namespace tandem::app {

// Whether a command line gives this option, such as "data", with dashes or underscores.
bool gives(std::vector<std::string> words, const std::string& option);

// "tandem train OPTIONS", quoted for a shell; in a container of Apptainer if there is an image. The
// data set is $TANDEM_DATA if no option names it.
std::vector<std::string> train_words(const Launch& launch);
// The same for a script: it resumes, takes the task of an array as its seed, and stops after
// `max_time`.
std::vector<std::string> job_words(const Launch& launch, const std::string& task);

// Starts job_words() by the launcher of the MPI library, on the hosts that `host_file`, as a shell
// reads it, lists.
std::vector<std::string> words_on_hosts_of(const Launch& launch, const std::string& host_file,
                                           const std::string& task);

// "#SBATCH --mem=8M": `start` + value + `end`; nothing for 0 and "".
std::string directive(const std::string& start, std::uint64_t value, const std::string& end = "");
std::string directive(const std::string& start, const std::string& value);

// The words of a batch system in the shell of a job.
struct JobNames {
  std::string submit;  // "sbatch", for a message
  std::string job;     // "$SLURM_JOB_ID"
  std::string task;    // "$SLURM_ARRAY_TASK_ID"; "" if it has no arrays
};
// Strict mode, the site's file, the data set, the name of the run and the limit of starts that make
// no progress.
std::string prologue(const Launch& launch, const JobNames& names);

// Starts ranks by a launcher below this shell, passes signals on as SIGUSR1, and sets `code`.
std::string run_below_shell(const std::vector<std::string>& words);

// After 75: submits the script again by `submit`, such as "qsub -v", followed by variables and
// $TANDEM_JOB_SCRIPT, or prints how to. "" if the run does not resume.
std::string submit_again(const Launch& launch, const std::string& submit);

}  // namespace tandem::app
