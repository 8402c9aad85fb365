// The facts of one rank's machine and start for `tandem doctor`, as plain values. A fact that
// cannot be determined is itself a fact, so nothing throws.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tandem/core/json.hpp"

namespace tandem::app {

struct RankFacts {
  // From MPI.
  int rank = 0;
  int world = 1;
  std::string host;
  int allowed_cpus = 1;
  int allowed_cores = 1;  // to which these belong
  int host_cpus = 1;
  int cpu_sharers = 1;  // ranks of this host with the same CPUs
  int threads = 1;

  // The program and its arguments; compared between ranks.
  std::string versions;          // of tandem and its libraries
  std::string command_line;      // its options, in one order
  std::string data_digest;       // empty: no --data
  std::string data_error;        // why it cannot be read here
  std::uint64_t data_bytes = 0;  // of its images
  // Of its picture files. Training verifies a block when it reads it, so doctor does not.
  std::uint64_t data_unread_bytes = 0;

  // The GPU of the rank.
  bool drives_gpu = false;
  std::string gpu;         // the same for the same GPU; empty: none
  std::string gpu_name;    // for people
  std::string nvml_error;  // why its metrics cannot be read; empty: they can, or there is no GPU

  // The machine.
  int launched = 1;               // ranks that a launcher says it started
  int torch_world = 1;            // WORLD_SIZE, which torchrun and DDP scripts set
  bool has_shared_memory = true;  // /dev/shm is there
  // Free in it.
  std::uint64_t shared_memory_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();  // available
  // On the first rank of a host, as find_stale_memory() says.
  int stale_files = 0;
  std::uint64_t stale_bytes = 0;
  std::string stale_command;
  bool reads_sibling = true;  // the memory of another rank of its host, where MPI would
  std::string lock_error;     // why the data file cannot be locked

  double clock_offset = 0;  // seconds that the clock is ahead of rank 0's
  std::string transport;    // of messages to other hosts, see transport.hpp
};
TANDEM_JSON_STRUCT(RankFacts, rank, world, host, allowed_cpus, allowed_cores, host_cpus,
                   cpu_sharers, threads, versions, command_line, data_digest, data_error,
                   data_bytes, data_unread_bytes, drives_gpu, gpu, gpu_name, nvml_error, launched,
                   torch_world, has_shared_memory, shared_memory_bytes, memory_bytes, stale_files,
                   stale_bytes, stale_command, reads_sibling, lock_error, clock_offset, transport)

// Fills in what a rank sees alone of its machine.
void look_around(RankFacts& facts);

// Why a file cannot be locked as HDF5 in other programs locks what it reads (tandem does not). ""
// if it can, if HDF5 is told not to lock, and if the file cannot be opened.
std::string lock_error_of(const std::string& path);

// The number of ranks according to the launcher; 1 without one.
int launched_ranks();
// Whether a launcher started this process as a rank, also as the only one.
bool is_launched();
// Whether this is one of several processes of srun without a PMI, so that each would be a job of
// its own, or end in MPI_Init. Needs no MPI.
bool is_started_without_pmi();

// Whether the memory of a process can be read, as Open MPI does between the ranks of a host.
// `address`: of a byte in it.
bool can_read_process(pid_t process, const void* address);
// Whether MPI is told not to read it, which is the fix if it cannot.
bool is_told_not_to_read();

}  // namespace tandem::app
