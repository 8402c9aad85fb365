// The kernel's counters of this process: /proc/self/status and io, and getrusage(). Values that a
// kernel does not report are absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem::metrics {

// Counters of all threads of this process; `proc` is its folder in /proc.
struct ProcessCounters {
  std::optional<double> cpu_seconds;
  std::optional<std::uint64_t> rss_bytes;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> write_bytes;
  std::optional<std::uint64_t> context_switches;
  std::optional<std::uint64_t> forced_switches;
};
ProcessCounters read_process(const std::string& proc = "/proc/self");

}  // namespace tandem::metrics
