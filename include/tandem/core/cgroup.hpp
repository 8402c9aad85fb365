// The control groups of this process, version 1 or 2: memory in use, its limit, and how often a CPU
// time limit throttled the process. A value that is not available is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

struct CgroupCounters {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> memory_limit_bytes;  // the least, of the group and those around it
  // Of the lowest CPU time limit among the groups, both or none: its periods while the group ran,
  // and those in which the group was throttled. Times would be sums over CPUs.
  std::optional<std::uint64_t> cpu_periods;
  std::optional<std::uint64_t> throttled_periods;
};

// The CPU time limit of a group, in CPUs.
struct CpuLimit {
  double cpus = 0;
  std::uint64_t group = 0;  // the inode of the group, which is the same to all of its processes
};

class Cgroup {
 public:
  // Finds the groups by /proc/self/cgroup and their folders by /proc/self/mountinfo. `root` is put
  // before every path, for tests.
  explicit Cgroup(const std::string& root = "");

  CgroupCounters read() const;
  // Bytes that the groups may still allocate, the minimum over all levels; absent if none has a
  // limit. Page cache counts as free, and so do up to `swap` bytes if the group may swap.
  std::optional<std::uint64_t> memory_room(std::uint64_t swap) const;
  // The least of the group and those around it; absent if none has a limit.
  std::optional<CpuLimit> cpu_limit() const;

 private:
  // From the process's own group to the outermost visible one.
  struct Hierarchy {
    std::vector<std::string> folders;
    bool is_version_2 = false;
    const char* usage_name() const {
      return is_version_2 ? "/memory.current" : "/memory.usage_in_bytes";
    }
    const char* limit_name() const {
      return is_version_2 ? "/memory.max" : "/memory.limit_in_bytes";
    }
  };
  static void read_memory(const Hierarchy& groups, CgroupCounters& counters);
  static void read_cpu(const Hierarchy& groups, CgroupCounters& counters);

  std::optional<Hierarchy> memory_;
  std::optional<Hierarchy> cpu_;
};

// The memory that this process can still allocate. Beyond it the OOM killer ends a process of the
// host or of the control group, so large allocations are checked against it first.
struct MemoryRoom {
  std::uint64_t bytes = 0;
  // Whether the control group's limit is the tighter one, not the host's memory.
  bool is_of_group = false;
  // "1.5 GB are available (limit of the control group)"
  std::string text() const;
};

// The CPUs that this process can keep busy: those of its affinity mask, at most as many whole ones
// as its control group allows, at least 1.
int usable_cpus();

// Absent if the kernel does not report it. Page cache counts as free. `root` is put before every
// path, for tests.
std::optional<MemoryRoom> memory_room(const std::string& root = "");

}  // namespace tandem
