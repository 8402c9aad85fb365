// The memory that this process can still allocate. Beyond it the OOM killer ends a process of the
// host or of the control group, so large allocations are checked against it first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

struct MemoryRoom {
  std::uint64_t bytes = 0;
  // Whether the control group's limit is the tighter one, not the host's memory.
  bool is_of_group = false;
  // "1.5 GB are available (limit of the control group)"
  std::string text() const;
};

// Absent if the kernel does not report it. Page cache counts as free. `root` is put before every
// path, for tests.
std::optional<MemoryRoom> memory_room(const std::string& root = "");

}  // namespace tandem
