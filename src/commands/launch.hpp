// The text that starts a job: a command line for mpirun, or a job for a batch system.
// src/commands/launch has one file for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/comm/launchers.hpp"

namespace tandem::app {

struct Launch {
  std::vector<std::string> hosts;  // for mpirun, each "name" or "name:ranks"; empty: this machine
  std::uint64_t nodes = 1;
  std::uint64_t ranks_per_node = 1;
  std::vector<std::uint64_t> ranks_of_nodes;  // if hosts have unequal ranks; else empty
  std::uint64_t gpus_per_node = 0;
  std::uint64_t cpus_per_rank = 0;       // 0: ranks are not bound, Slurm gives its default
  std::uint64_t mebibytes_per_node = 0;  // 0: the batch system's default
  std::string time_limit;                // as sbatch reads it; empty: the partition's
  std::uint64_t seconds_limit = 0;       // the same
  std::uint64_t max_time = 0;            // for --max-time, in seconds; 0: the script gives none
  std::string partition;                 // or queue; these are empty if not given
  std::string account;
  std::string array;   // numbers of the tasks, which are seeds, such as "1-5"
  std::string output;  // file of the job's output
  std::uint64_t most_requeues = 0;
  std::string image;               // of Apptainer or Kubernetes; empty: the program itself
  std::string claim;               // of Kubernetes: the volume with data and runs
  std::string program = "tandem";  // where it is
  comm::Launcher launcher = comm::open_mpi_4();  // of the MPI that the program uses
  std::vector<std::string> train_options;        // go to `tandem train`

  // The value of --resume in train_options, "auto" by default and for "latest".
  std::string resume_mode() const;
  // Ranks of the job. Those of a host whose number is a fault count as none.
  std::uint64_t ranks() const;
};

// One line to paste into a shell.
std::string mpirun_line(const Launch& launch);

// Complete scripts and, for Kubernetes, an MPIJob (v2beta1). All of them resume. Those for Slurm,
// PBS, LSF and Flux start again after an early stop of training (75), if the batch system can do
// it. Words after the name of a script for Slurm or Flux also go to `tandem train`.
std::string sbatch_script(const Launch& launch);
std::string pbs_script(const Launch& launch);
std::string lsf_script(const Launch& launch);
std::string flux_script(const Launch& launch);
std::string kubernetes_job(const Launch& launch);

}  // namespace tandem::app
