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
  std::optional<std::uint64_t> received_bytes;  // see read_host()
  std::optional<std::uint64_t> sent_bytes;
};

// `proc` and `interfaces` are folders of the kernel's files. Network bytes are those of hardware
// and of a virtual machine's cards, as a bond, bridge or VLAN would count them again; where there
// are none, as in a container, those of all interfaces but the loopback.
HostCounters read_host(const std::string& proc = "/proc",
                       const std::string& interfaces = "/sys/class/net");

}  // namespace tandem::metrics
