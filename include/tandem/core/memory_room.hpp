// What: the memory that this process can still take. Beyond it the kernel ends a process of the
// host or of the control group without a word, so large memory is asked for only within it.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

struct MemoryRoom {
  std::uint64_t bytes = 0;
  // The limit of the control group is nearer than the end of the host's memory.
  bool is_of_group = false;
  // "1.5 GB are available (limit of the control group)"
  std::string text() const;
};

// Nothing where the kernel does not tell. Caches of files count as free. Tests give a folder of
// their own for `root`, before every path.
std::optional<MemoryRoom> memory_room(const std::string& root = "");

}  // namespace tandem
