#include "tandem/metrics/host_counters.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

#include "tandem/core/kernel_file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::metrics {
namespace {

// The leading numbers of a line.
std::vector<std::uint64_t> numbers_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::uint64_t>(words), {}};
}

// proc(5): "cpu" and the ticks of all CPUs as user, nice, system, idle, iowait, irq, softirq,
// steal; later fields are part of user. Then a line for each CPU.
void read_cpus(const std::string& stat, HostCounters& counters) {
  constexpr std::string_view kName = "cpu";
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kIowait = 4;
  constexpr std::size_t kColumns = 8;
  std::uint64_t cpus = 0;
  for (const std::string& line : split(stat, '\n')) {
    if (!begins_with(line, kName)) break;
    if (line.size() > kName.size() && line[kName.size()] != ' ') {
      ++cpus;
      continue;
    }
    const std::vector<std::uint64_t> ticks = numbers_of(line.substr(kName.size()));
    if (ticks.size() <= kIowait) return;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < std::min(ticks.size(), kColumns); ++i) all += ticks[i];
    counters.all_ticks = all;
    counters.busy_ticks = all - ticks[kIdle] - ticks[kIowait];
  }
  if (cpus > 0) counters.cpus = cpus;
}

struct Traffic {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
};

// Lines "name: received bytes, seven other numbers, sent bytes, …", after two of headings.
void read_network(const std::string& dev, const std::string& interfaces, HostCounters& counters) {
  constexpr std::size_t kSent = 8;
  std::optional<Traffic> of_all;
  std::optional<Traffic> of_devices;
  for (const std::string& line : split(dev, '\n')) {
    const std::size_t colon = line.find(':');
    const std::string name = trim(line.substr(0, colon));
    if (colon == std::string::npos || name == "lo") continue;
    const std::vector<std::uint64_t> numbers = numbers_of(line.substr(colon + 1));
    if (numbers.size() <= kSent) continue;
    const auto add_to = [&numbers](std::optional<Traffic>& sum) {
      if (!sum) sum.emplace();
      sum->received += numbers.front();
      sum->sent += numbers[kSent];
    };
    add_to(of_all);
    std::error_code unreadable;  // then it counts as having none
    if (std::filesystem::exists(interfaces + "/" + name + "/device", unreadable)) {
      add_to(of_devices);
    }
  }
  const std::optional<Traffic>& sum = of_devices ? of_devices : of_all;
  if (!sum) return;
  counters.received_bytes = sum->received;
  counters.sent_bytes = sum->sent;
}

}  // namespace

HostCounters read_host(const std::string& proc, const std::string& interfaces) {
  HostCounters counters;
  if (const auto stat = read_kernel_file(proc + "/stat")) read_cpus(*stat, counters);
  if (const auto meminfo = read_kernel_file(proc + "/meminfo")) {
    counters.memory_total_bytes = field_of(*meminfo, "MemTotal");
    const auto available = field_of(*meminfo, "MemAvailable");
    if (counters.memory_total_bytes && available && *available <= *counters.memory_total_bytes) {
      counters.memory_bytes = *counters.memory_total_bytes - *available;
    }
  }
  if (const auto dev = read_kernel_file(proc + "/net/dev")) {
    read_network(*dev, interfaces, counters);
  }
  return counters;
}

}  // namespace tandem::metrics
