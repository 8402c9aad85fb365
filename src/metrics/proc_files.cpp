#include "proc_files.hpp"

#include <sys/resource.h>

#include "tandem/core/kernel_file.hpp"

namespace tandem::metrics {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ProcessCounters read_process(const std::string& proc) {
  ProcessCounters counters;
  if (const auto status = read_kernel_file(proc + "/status")) {
    counters.rss_bytes = field_of(*status, "VmRSS");
    counters.threads = field_of(*status, "Threads");
  }
  // Absent if another user owns the process or the system hides the file.
  if (const auto io = read_kernel_file(proc + "/io")) {
    counters.read_bytes = field_of(*io, "read_bytes");
    counters.write_bytes = field_of(*io, "write_bytes");
  }
  // /proc/PID/stat has the time in ticks of 10 ms, and the switches in status are those of the
  // first thread alone.
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    counters.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    counters.context_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
    counters.forced_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  }
  return counters;
}

}  // namespace tandem::metrics
