// Counters of the whole host, from files of /proc. Values that the kernel does not report are
// absent. In a container /proc/stat and meminfo are the host's, and net/dev is the container's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem::metrics {

struct HostCounters {
  std::optional<std::uint64_t> cpus;
  std::optional<std::uint64_t> busy_ticks;  // of all CPUs, by all processes and by other guests
  std::optional<std::uint64_t> all_ticks;   // of all CPUs, idle time included
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> memory_total_bytes;
  std::optional<std::uint64_t> received_bytes;  // by all network interfaces but the loopback
  std::optional<std::uint64_t> sent_bytes;
};

// `proc` is the folder of the kernel's files.
HostCounters read_host(const std::string& proc = "/proc");

}  // namespace tandem::metrics
