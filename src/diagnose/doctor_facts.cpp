#include "doctor_facts.hpp"

#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tandem/comm/launchers.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// HDF5 asks for no lock where it was told so.
bool is_locking_off() {
  const char* setting = std::getenv("HDF5_USE_FILE_LOCKING");
  return setting != nullptr && (std::string(setting) == "FALSE" || std::string(setting) == "0");
}

// The value of the first variable that is set; 1 where none is, or its value is not a count.
int first_count(const std::vector<const char*>& names) {
  constexpr std::int64_t kMax = 10'000'000;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    try {
      return static_cast<int>(parse_integer(value, 1, kMax, name));
    } catch (const UsageError&) {  // so it is not a launcher's
      return 1;
    }
  }
  return 1;
}

}  // namespace

void look_around(RankFacts& facts) {
  facts.launched = launched_ranks();
  facts.torch_world = first_count({"WORLD_SIZE"});
  facts.allowed_cores = cores_of(allowed_cpus());
  struct statvfs status {};
  facts.has_shared_memory = ::statvfs("/dev/shm", &status) == 0;
  facts.shared_memory_bytes = std::uint64_t{status.f_bavail} * status.f_frsize;
  if (const auto room = memory_room()) facts.memory_bytes = room->bytes;
}

std::string lock_error_of(const std::string& path) {
  if (is_locking_off()) return "";
  try {
    const File file = File::open_for_reading(path);
    if (::flock(file.descriptor(), LOCK_SH | LOCK_NB) == 0) return "";
    return errno == EWOULDBLOCK ? "another program holds it for writing" : errno_text();
  } catch (const Error&) {
    return "";  // that it cannot be read is another finding
  }
}

// A batch script has its job's number of tasks in other variables, but is one process.
int launched_ranks() {
  std::vector<const char*> names;
  for (const comm::Launcher& each : comm::all_launchers()) {
    if (each.size != nullptr) names.push_back(each.size);
  }
  return first_count(names);
}

bool is_launched() {
  const std::vector<comm::Launcher> all = comm::all_launchers();
  return std::any_of(all.begin(), all.end(), [](const comm::Launcher& each) {
    return each.size != nullptr && std::getenv(each.size) != nullptr;
  });
}

bool is_started_without_pmi() {
  const comm::Launcher slurm = comm::slurm();
  const auto is_set = [](const char* name) {
    return name != nullptr && std::getenv(name) != nullptr;
  };
  for (const comm::Launcher& each : comm::all_launchers()) {
    if (each.name == std::string(slurm.name)) continue;
    if (is_set(each.rank) || is_set(each.size) || is_set(each.job)) return false;
  }
  return is_set(slurm.rank) && launched_ranks() > 1;
}

bool can_read_process(pid_t process, const void* address) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{const_cast<void*>(address), 1};
  return ::process_vm_readv(process, &here, 1, &there, 1, 0) == 1;
}

bool is_told_not_to_read() {
  for (const comm::Launcher& each : comm::all_launchers()) {
    if (each.no_process_reads == nullptr) continue;
    const std::vector<std::string> setting = split(each.no_process_reads, '=');
    const char* const value = std::getenv(setting.front().c_str());
    if (value != nullptr && value == setting.back()) return true;
  }
  return false;
}

}  // namespace tandem::app
