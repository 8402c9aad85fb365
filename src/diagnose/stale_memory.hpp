// Files that killed jobs left in /dev/shm, which use memory until they are removed: Open MPI's
// segments, and tandem's if a rank was killed while others opened it. Does not throw.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::app {

struct StaleMemory {
  int files = 0;
  std::uint64_t bytes = 0;
  // The command that removes them, or the first of very many; empty if there are none.
  std::string command;
};

// The files of this user that no process in `processes` has mapped.
StaleMemory find_stale_memory(const std::string& folder = "/dev/shm",
                              const std::string& processes = "/proc");

}  // namespace tandem::app
