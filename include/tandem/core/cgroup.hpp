// What: the control groups of this process, version 1 or 2: memory in use, its limit, and how often
// a limit of CPU time held the process back. Owns: paths. Threads: any. Throws: nothing; what is
// not there is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct CgroupCounters {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> memory_limit_bytes;  // the least, of the group and those around it
  // Of the least limit of CPU time among them, both or none: its periods while the group ran, and
  // those of them in which it had to wait. Times would be sums over its CPUs.
  std::optional<std::uint64_t> cpu_periods;
  std::optional<std::uint64_t> throttled_periods;
};

class Cgroup {
 public:
  // Finds the groups by /proc/self/cgroup and where they are by /proc/self/mountinfo. Tests give
  // a folder of their own for `root`, before every path.
  explicit Cgroup(const std::string& root = "");

  CgroupCounters read() const;
  // What its groups may still take, the least of all levels; nothing where none has a limit. The
  // kernel gives back caches of files, and moves up to `swap` bytes out where a group may.
  std::optional<std::uint64_t> memory_room(std::uint64_t swap) const;

 private:
  // From the process's own group to the outermost that is seen here.
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

// A line of /proc/self/mountinfo that mounts control groups.
struct CgroupMount {
  std::string group;  // which group is seen at `folder`
  std::string folder;
  std::vector<std::string> controllers;  // of version 1; empty: version 2
};
std::vector<CgroupMount> cgroup_mounts(std::string_view mountinfo);

// The group that /proc/self/cgroup names for a controller of version 1, or for "" of version 2.
std::optional<std::string> group_of(std::string_view cgroup, std::string_view controller);

}  // namespace tandem
