// This process as one rank of a job: its communicators, topology and supervision. Construct it on
// the main thread after the Runtime and destroy it before the Runtime. Throws InternalError if MPI
// fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "supervision.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/topology.hpp"

namespace tandem::app {

struct Job {
  // Collective. Makes `watch`, which outlives MPI, unless the ranks run different versions of the
  // program, which may lay out the shared table differently.
  Job(std::optional<Supervision>& watch, comm::StallLimits limits);
  // Collective, at the end of every command: the last MPI communication between the ranks.
  void end();

  comm::MpiCommunicator world = comm::MpiCommunicator::world();
  comm::MpiCommunicator node = world.node();
  comm::Topology topology = comm::discover_topology(world, node);

  // The command trains one run after another, so that it cannot be resumed.
  bool has_several_runs = false;

  bool is_root() const { return topology.rank == 0; }
  // Prints a warning on rank 0.
  void warn(const std::string& message) const;

  // Requires has_same_versions().
  Supervision& supervision() { return *watch_; }
  bool has_same_versions() const { return watch_.has_value(); }
  // Reports that this rank advances within a long phase.
  void touch();

 private:
  std::optional<Supervision>& watch_;
};

// Collective. Rank 0 reads environment, files and recipe and every rank gets the result; the
// command lines of all ranks must agree, and so must the versions of program and MPI.
Options resolve_together(Job& job, const std::string& command, const OptionTable& table,
                         const Arguments& arguments);

// Collective. Uses rank 0's command line, environment and files and ignores those of other ranks.
Options resolve_on_rank_0(Job& job, const std::string& command, const OptionTable& table,
                          const Arguments& arguments);

// The versions of the program and its libraries, to be compared between ranks.
std::string describe_versions();

// Threads for this rank: `asked` unless 0, else OMP_NUM_THREADS, else `otherwise`. Throws
// UnavailableError where the system does not grant as many, since libtorch would then hang or exit.
int rank_threads(int asked, int otherwise);

}  // namespace tandem::app
