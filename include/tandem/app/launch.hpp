// What: the text that starts a job: a line for mpirun, or a job script for Slurm.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::app {

struct Launch {
  std::vector<std::string> hosts;  // for mpirun, each "name" or "name:ranks"; empty: this machine
  std::uint64_t nodes = 1;
  std::uint64_t ranks_per_node = 1;
  std::uint64_t gpus_per_node = 0;
  std::uint64_t cpus_per_rank = 0;  // 0: ranks are not bound, Slurm gives its default
  std::string time_limit;           // as sbatch reads it; empty: the partition's
  std::uint64_t most_requeues = 0;
  std::string image;                       // of Apptainer; empty: the program itself
  std::string program = "tandem";          // where it is
  std::vector<std::string> train_options;  // go to `tandem train`

  // What --resume says among them: "auto" where they don't give it.
  std::string resume_mode() const;
};

// One line, to be pasted into a shell.
std::string mpirun_line(const Launch& launch);

// A whole file. Words that follow its name on sbatch's line go to `tandem train`, too. It resumes,
// and puts itself back into the queue where training was stopped early.
std::string sbatch_script(const Launch& launch);

// The word as a POSIX shell reads it back, in quotes where it needs them.
std::string shell_word(const std::string& word);

}  // namespace tandem::app
