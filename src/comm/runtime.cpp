#include "tandem/comm/runtime.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>

#include "fabric_search.hpp"
#include "mpi_handle.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

constexpr auto kTimeForAbort = std::chrono::seconds(2);

}  // namespace

void check_mpi(int code, const char* call, const char* file, int line) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::string_view name(call);
  name = name.substr(0, name.find('('));
  throw InternalError(std::string(name) + " failed: " + std::string(text, length) + " (" + file +
                      ":" + std::to_string(line) + "); another rank may have printed the reason");
}

Runtime::Runtime() {
  int provided = 0;
  const FabricSearch search;
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  // Open MPI's own handler ends the process with its message before a code is returned.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
    throw UnavailableError("MPI could not be started; try: mpirun -np 2 hostname");
  }
  // UCX, which Open MPI loads, handles SIGHUP even if nohup has the process ignore it.
  if (hangup.sa_handler == SIG_IGN) sigaction(SIGHUP, &hangup, nullptr);
  TANDEM_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  TANDEM_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

Runtime::~Runtime() { MPI_Finalize(); }

int Runtime::rank() const {
  int rank = 0;
  TANDEM_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  return rank;
}

int Runtime::world() const {
  int size = 1;
  TANDEM_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  return size;
}

bool Runtime::allows_threads() {
  int provided = 0;
  TANDEM_MPI(MPI_Query_thread(&provided));
  return provided == MPI_THREAD_MULTIPLE;
}

// MPI_Abort itself may hang if another rank hangs.
void Runtime::abort(int code) {
  StopSignal::announce_no_more();
  try {
    std::thread([code] {
      std::this_thread::sleep_for(kTimeForAbort);
      ::_exit(code);
    }).detach();
  } catch (const std::system_error&) {
    // No thread can be started; MPI_Abort is called without the time limit.
  }
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

std::string mpi_library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  // MPICH's text has a line for each fact, with tabs.
  std::string version(text, static_cast<std::size_t>(length));
  version.resize(std::min(version.find_first_of(",\n"), version.size()));
  std::replace(version.begin(), version.end(), '\t', ' ');
  const auto both_blank = [](char one, char other) { return one == ' ' && other == ' '; };
  version.erase(std::unique(version.begin(), version.end(), both_blank), version.end());
  return trim(version);
}

std::string host_name() {
  char host[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  TANDEM_MPI(MPI_Get_processor_name(host, &length));
  return std::string(host, static_cast<std::size_t>(length));
}

}  // namespace tandem::comm
