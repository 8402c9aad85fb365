// Runs work that may crash, hang or exhaust memory in a child process, and waits for it.
// Threads: the work must need no other thread, because fork() copies none. Throws the error that
// the work threw; DataError if the child crashed, took too long or sent too much; 128 + 9 if
// somebody killed it; IoError.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "tandem/core/file.hpp"
#include "tandem/core/touch.hpp"

namespace tandem::data {

struct ChildLimits {
  std::chrono::milliseconds time = std::chrono::seconds(60);
  std::uint64_t processor_seconds = 60;
  std::uint64_t reply_bytes = std::uint64_t{1} << 20;
  std::uint64_t memory = std::uint64_t{2} << 30;  // beyond what the process has mapped already
};

// Returns what the work returns. The child has no descriptors but that of `file`, which the work
// parses, and standard streams on /dev/null. It writes no core file and runs no exit handlers.
// `touch` is called once a second while it works, which its limits end.
std::string run_in_child(const File& file, const ChildLimits& limits,
                         const std::function<std::string()>& work, const Touch& touch = {});

}  // namespace tandem::data
