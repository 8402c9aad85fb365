// What: files that jobs which were killed have left in /dev/shm, where they take memory until
// somebody removes them: Open MPI's segments, and ours if a rank was killed while others opened it.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::app {

struct StaleMemory {
  int files = 0;
  std::uint64_t bytes = 0;
  // The command that removes them; empty: there are none.
  std::string command;
};

// This user's that no process seen in `processes` maps.
StaleMemory find_stale_memory(const std::string& folder = "/dev/shm",
                              const std::string& processes = "/proc");

}  // namespace tandem::app
