#include "doctor_facts.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/memory_room.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

const char* variable(const char* name) { return std::getenv(name); }

// HDF5 asks for no lock where it was told so.
bool is_locking_off() {
  const char* setting = variable("HDF5_USE_FILE_LOCKING");
  return setting != nullptr && (std::string(setting) == "FALSE" || std::string(setting) == "0");
}

}  // namespace

void look_around(RankFacts& facts) {
  facts.launched = launched_ranks();
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
    return errno == EWOULDBLOCK ? "another program holds it for writing" : std::strerror(errno);
  } catch (const Error&) {
    return "";  // that it cannot be read is another finding
  }
}

// The number of ranks that the launcher tells its processes. A batch script has its job's number of
// tasks in other variables, but is one process.
int launched_ranks() {
  constexpr std::int64_t kMax = 10'000'000;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* value = variable(name);
    if (value == nullptr) continue;
    try {
      return static_cast<int>(parse_integer(value, 1, kMax, name));
    } catch (const UsageError&) {  // not a number, so not of a launcher
      return 1;
    }
  }
  return 1;
}

bool is_started_without_pmi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_RANK"}) {
    if (variable(name) != nullptr) return false;
  }
  return variable("SLURM_PROCID") != nullptr && launched_ranks() > 1;
}

bool can_read_process(pid_t process, const void* address) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{const_cast<void*>(address), 1};
  return ::process_vm_readv(process, &here, 1, &there, 1, 0) == 1;
}

bool is_told_not_to_read() {
  const char* mechanism = variable("OMPI_MCA_btl_vader_single_copy_mechanism");
  return mechanism != nullptr && std::string(mechanism) == "none";
}

Json to_json(const RankFacts& facts) {
  return {{"rank", facts.rank},
          {"world", facts.world},
          {"host", facts.host},
          {"allowed_cpus", facts.allowed_cpus},
          {"allowed_cores", facts.allowed_cores},
          {"host_cpus", facts.host_cpus},
          {"cpu_sharers", facts.cpu_sharers},
          {"threads", facts.threads},
          {"versions", facts.versions},
          {"command_line", facts.command_line},
          {"data_digest", facts.data_digest},
          {"data_error", facts.data_error},
          {"data_bytes", facts.data_bytes},
          {"gpu", facts.gpu},
          {"gpu_name", facts.gpu_name},
          {"nvml_error", facts.nvml_error},
          {"launched", facts.launched},
          {"has_shared_memory", facts.has_shared_memory},
          {"shared_memory_bytes", facts.shared_memory_bytes},
          {"memory_bytes", facts.memory_bytes},
          {"stale_files", facts.stale_memory.files},
          {"stale_bytes", facts.stale_memory.bytes},
          {"stale_command", facts.stale_memory.command},
          {"reads_sibling", facts.reads_sibling},
          {"lock_error", facts.lock_error},
          {"clock_offset", facts.clock_offset}};
}

RankFacts facts_from_json(const Json& json) {
  RankFacts facts;
  json.at("rank").get_to(facts.rank);
  json.at("world").get_to(facts.world);
  json.at("host").get_to(facts.host);
  json.at("allowed_cpus").get_to(facts.allowed_cpus);
  json.at("allowed_cores").get_to(facts.allowed_cores);
  json.at("host_cpus").get_to(facts.host_cpus);
  json.at("cpu_sharers").get_to(facts.cpu_sharers);
  json.at("threads").get_to(facts.threads);
  json.at("versions").get_to(facts.versions);
  json.at("command_line").get_to(facts.command_line);
  json.at("data_digest").get_to(facts.data_digest);
  json.at("data_error").get_to(facts.data_error);
  json.at("data_bytes").get_to(facts.data_bytes);
  json.at("gpu").get_to(facts.gpu);
  json.at("gpu_name").get_to(facts.gpu_name);
  json.at("nvml_error").get_to(facts.nvml_error);
  json.at("launched").get_to(facts.launched);
  json.at("has_shared_memory").get_to(facts.has_shared_memory);
  json.at("shared_memory_bytes").get_to(facts.shared_memory_bytes);
  json.at("memory_bytes").get_to(facts.memory_bytes);
  json.at("stale_files").get_to(facts.stale_memory.files);
  json.at("stale_bytes").get_to(facts.stale_memory.bytes);
  json.at("stale_command").get_to(facts.stale_memory.command);
  json.at("reads_sibling").get_to(facts.reads_sibling);
  json.at("lock_error").get_to(facts.lock_error);
  json.at("clock_offset").get_to(facts.clock_offset);
  return facts;
}

}  // namespace tandem::app
