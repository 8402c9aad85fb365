#include "tandem/core/cgroup.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "tandem/core/file.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/kernel_file.hpp"
#include "tandem/core/text.hpp"

namespace tandem {
namespace {

// Version 1 says "no limit" by the largest multiple of a page.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

bool holds(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  const auto text = read_kernel_file(path);
  return text ? field_of("value " + *text, "value") : std::nullopt;  // not one of "max"
}

// The CPUs that a group may use at once; nothing where it has no limit.
std::optional<double> cpus_of_group(const std::string& folder, bool is_version_2) {
  std::optional<std::uint64_t> quota;
  std::optional<std::uint64_t> period;
  if (is_version_2) {
    const auto text = read_kernel_file(folder + "/cpu.max");  // "200000 100000", "max 100000"
    const std::vector<std::string> words = split(text.value_or(""), ' ');
    if (words.size() != 2) return std::nullopt;
    quota = field_of("value " + words[0], "value");
    period = field_of("value " + words[1], "value");
  } else {
    quota = read_number(folder + "/cpu.cfs_quota_us");  // -1: none
    period = read_number(folder + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// A line of /proc/self/mountinfo that mounts control groups.
struct CgroupMount {
  std::string group;  // which group is seen at `folder`
  std::string folder;
  std::vector<std::string> controllers;  // of version 1; empty: version 2
};

std::vector<CgroupMount> cgroup_mounts(std::string_view mountinfo) {
  // id parent device root folder options [fields…] - type source options (proc(5))
  std::vector<CgroupMount> mounts;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const bool is_version_2 = dash[1] == "cgroup2";
    if (!is_version_2 && dash[1] != "cgroup") continue;
    mounts.push_back(
        {words[3], words[4], is_version_2 ? std::vector<std::string>{} : split(dash[3], ',')});
  }
  return mounts;
}

// The group that /proc/self/cgroup names for a controller of version 1, or for "" of version 2.
std::optional<std::string> group_of(std::string_view cgroup, std::string_view controller) {
  for (const std::string& line : split(cgroup, '\n')) {  // number:controllers:group
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches = controller.empty() ? controllers.empty() && line.substr(0, first) == "0"
                                            : holds(split(controllers, ','), controller);
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The group's folder and those of the groups around it, as far as `mount` shows them. In a
// container the kernel may name a group as the host sees it; then the mount's top is the group.
std::vector<std::string> folders_of(const CgroupMount& mount, const std::string& group,
                                    const std::string& root) {
  const std::string top = mount.group == "/" ? "" : mount.group;
  std::string below;
  const bool is_inside = group.compare(0, top.size(), top) == 0 &&
                         (group.size() == top.size() || group[top.size()] == '/');
  if (is_inside) below = group.substr(top.size());
  while (!below.empty() && below.back() == '/') below.pop_back();
  const std::string outermost = root + mount.folder;
  // A group outside this process's namespace is named "/..", which gives no path to its files.
  std::error_code ignored;  // a group that cannot be looked at is not seen
  const bool is_seen = below.find("/..") == std::string::npos &&
                       std::filesystem::is_directory(outermost + below, ignored);
  if (!is_seen) below.clear();
  std::vector<std::string> folders;
  for (; !below.empty(); below.erase(below.rfind('/'))) folders.push_back(outermost + below);
  folders.push_back(outermost);
  return folders;
}

}  // namespace

Cgroup::Cgroup(const std::string& root) {
  const auto groups = read_kernel_file(root + "/proc/self/cgroup");
  const auto mountinfo = read_kernel_file(root + "/proc/self/mountinfo");
  if (!groups || !mountinfo) return;
  const std::vector<CgroupMount> mounts = cgroup_mounts(*mountinfo);
  const auto find = [&](std::string_view controller) -> std::optional<Hierarchy> {
    // A controller is in one version only; where both are mounted, 1 has those it lists.
    for (const CgroupMount& mount : mounts) {
      if (!holds(mount.controllers, controller)) continue;
      if (const auto group = group_of(*groups, controller)) {
        return Hierarchy{folders_of(mount, *group, root), false};
      }
    }
    for (const CgroupMount& mount : mounts) {
      if (!mount.controllers.empty()) continue;
      if (const auto group = group_of(*groups, "")) {
        return Hierarchy{folders_of(mount, *group, root), true};
      }
    }
    return std::nullopt;
  };
  memory_ = find("memory");
  cpu_ = find("cpu");
}

CgroupCounters Cgroup::read() const {
  CgroupCounters counters;
  if (memory_) read_memory(*memory_, counters);
  if (cpu_) read_cpu(*cpu_, counters);
  return counters;
}

std::optional<std::uint64_t> Cgroup::memory_room(std::uint64_t swap) const {
  std::optional<std::uint64_t> least;
  if (!memory_) return least;
  for (const std::string& folder : memory_->folders) {
    const auto limit = read_number(folder + memory_->limit_name());
    const auto used = read_number(folder + memory_->usage_name());
    if (!limit || !used || *limit >= kNoLimit) continue;
    const std::string stat = read_kernel_file(folder + "/memory.stat").value_or("");
    const std::string prefix = memory_->is_version_2 ? "" : "total_";
    const std::uint64_t caches = field_of(stat, prefix + "inactive_file").value_or(0) +
                                 field_of(stat, prefix + "active_file").value_or(0);
    const std::uint64_t kept = *used - std::min(caches, *used);
    std::uint64_t room = *limit - std::min(kept, *limit);
    if (memory_->is_version_2) {
      const auto most = read_number(folder + "/memory.swap.max");
      const auto swapped = read_number(folder + "/memory.swap.current").value_or(0);
      room += most ? std::min(swap, *most - std::min(swapped, *most)) : swap;
    }
    least = std::min(room, least.value_or(room));
  }
  return least;
}

std::optional<CpuLimit> Cgroup::cpu_limit() const {
  std::optional<CpuLimit> least;
  if (!cpu_) return least;
  for (const std::string& folder : cpu_->folders) {
    const auto cpus = cpus_of_group(folder, cpu_->is_version_2);
    struct stat status {};
    if (!cpus || (least && *cpus >= least->cpus) || ::stat(folder.c_str(), &status) != 0) continue;
    least = CpuLimit{*cpus, status.st_ino};
  }
  return least;
}

void Cgroup::read_memory(const Hierarchy& groups, CgroupCounters& counters) {
  const std::string* counts = nullptr;  // the group whose usage is read
  for (const std::string& folder : groups.folders) {
    const auto limit = read_number(folder + groups.limit_name());
    const bool limits = limit && *limit < kNoLimit &&
                        (!counters.memory_limit_bytes || *limit < *counters.memory_limit_bytes);
    if (limits) counters.memory_limit_bytes = limit;
    if (limits || counts == nullptr) counts = &folder;
  }
  if (counts != nullptr) counters.memory_bytes = read_number(*counts + groups.usage_name());
}

void Cgroup::read_cpu(const Hierarchy& groups, CgroupCounters& counters) {
  std::optional<double> least;
  for (const std::string& folder : groups.folders) {
    const auto limit = cpus_of_group(folder, groups.is_version_2);
    if (!limit || (least && *limit >= *least)) continue;
    const auto stat = read_kernel_file(folder + "/cpu.stat");
    if (!stat) continue;
    const auto periods = field_of(*stat, "nr_periods");
    const auto throttled = field_of(*stat, "nr_throttled");
    if (!periods || !throttled) continue;
    least = limit;
    counters.cpu_periods = periods;
    counters.throttled_periods = throttled;
  }
}

std::string MemoryRoom::text() const {
  return format_bytes(bytes) + " are available (" +
         (is_of_group ? "limit of the control group" : "memory of the host") + ")";
}

int usable_cpus() {
  const auto allowed = static_cast<double>(allowed_cpus().size());
  const auto limit = Cgroup().cpu_limit();
  return static_cast<int>(std::max(limit ? std::min(limit->cpus, allowed) : allowed, 1.0));
}

std::optional<MemoryRoom> memory_room(const std::string& root) {
  const std::string host = read_kernel_file(root + "/proc/meminfo").value_or("");
  const std::uint64_t swap = field_of(host, "SwapFree").value_or(0);
  const auto of_host = field_of(host, "MemAvailable");
  const auto of_group = Cgroup(root).memory_room(swap);
  if (of_group && (!of_host || *of_group < *of_host + swap)) return MemoryRoom{*of_group, true};
  if (!of_host) return std::nullopt;
  return MemoryRoom{*of_host + swap, false};
}

}  // namespace tandem
