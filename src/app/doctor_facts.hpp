// What: what one rank of a job sees of its machine and its start, as plain values, for `tandem
// doctor` to judge. Owns: values. Threads: any. Throws: nothing; what cannot be found out is a fact
// itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tandem/core/json.hpp"

namespace tandem::app {

struct RankFacts {
  // From MPI.
  int rank = 0;
  int world = 1;
  std::string host;
  int allowed_cpus = 1;
  int host_cpus = 1;
  int cpu_sharers = 1;  // ranks of this host with the same CPUs
  int threads = 1;

  // Of the program and what it was given; compared between ranks.
  std::string versions;      // of tandem and libtorch
  std::string command_line;  // its options, in one order
  std::string data_digest;   // empty: no --data
  std::string data_error;    // why it cannot be read here

  // Of the GPU that the rank computes with.
  std::string gpu;         // its UUID; empty: none
  std::string nvml_error;  // why its driver does not answer; empty: it does, or there is no GPU

  // Of the machine, by look_around().
  int launched = 1;                       // ranks that a launcher says it started
  bool has_shared_memory = false;         // /dev/shm is there
  std::uint64_t shared_memory_bytes = 0;  // free in it
  bool reads_siblings = true;             // process_vm_readv is permitted
  std::string lock_error;                 // why the data file cannot be locked

  double clock_offset = 0;  // seconds that the clock is ahead of rank 0's
};

// Fills in what a rank sees alone. `data` may be empty.
void look_around(const std::string& data, RankFacts& facts);

// Whether the memory of a process may be read, as Open MPI does between the ranks of a host:
// `address` is of a byte in it.
bool can_read_process(pid_t process, const void* address);

Json to_json(const RankFacts& facts);
// Of what to_json made.
RankFacts facts_from_json(const Json& json);

}  // namespace tandem::app
