// The text that starts a job: a command line for mpirun, or a job script for Slurm.
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

  // The value of --resume in train_options, "auto" by default and for "latest".
  std::string resume_mode() const;
};

// One line to paste into a shell.
std::string mpirun_line(const Launch& launch);

// A complete script. Words after its name on sbatch's command line are passed to `tandem train`,
// too. It resumes, and requeues itself after an early stop of training.
std::string sbatch_script(const Launch& launch);

}  // namespace tandem::app
