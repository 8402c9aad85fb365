#include "tandem/comm/launcher.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "tandem/core/host.hpp"
#include "tandem/core/kernel_file.hpp"

namespace tandem::comm {
namespace {

namespace fs = std::filesystem;

constexpr int kGraceMilliseconds = 10'000;
constexpr int kBetweenLooksMilliseconds = 200;
constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                          "SLURM_PROCID"};
// These have the same value in all processes of a job step, including shells below the launcher.
constexpr const char* kJobVariables[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_STEP_ID"};

std::string folder_of(int process) { return "/proc/" + std::to_string(process); }

// Between zeros.
std::string environment_of(int process) {
  return '\0' + read_kernel_file(folder_of(process) + "/environ").value_or("");
}

// "NAME=VALUE" of the first of these variables that is set; "" if none is.
template <typename Names>
std::string own_entry(const Names& names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return std::string(name) + "=" + value;
  }
  return "";
}

bool has_entry(int process, const std::string& entry) {
  return !entry.empty() && environment_of(process).find('\0' + entry + '\0') != std::string::npos;
}

std::string field_of_status(int process, int field) {
  return field_of_stat(read_kernel_file(folder_of(process) + "/stat").value_or(""), field);
}

int parent_of(int process) { return std::atoi(field_of_status(process, 4).c_str()); }

bool is_stopped(int process) {
  const std::string state = field_of_status(process, 3);
  return state == "T" || state == "t";
}

// The PID of the first ancestor outside the job.
int launcher_of(int parent) {
  const std::string job = own_entry(kJobVariables);
  while (parent > 1 && has_entry(parent, job)) parent = parent_of(parent);
  return parent;
}

}  // namespace

int launcher_rank() {
  const std::string entry = own_entry(kRankVariables);
  return entry.empty() ? 0 : std::atoi(entry.c_str() + entry.find('=') + 1);
}

bool launcher_reports_exit_code() {
  // As the process was started: MPI_Init sets these variables where there is no launcher, too.
  return has_entry(::getpid(), "OMPI_MCA_orte_launch=1") &&
         !has_entry(::getpid(), "OMPI_MCA_orte_execute_quiet=1");
}

bool is_rank_process(int process, int rank) {
  const std::string entry = own_entry(kRankVariables);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return has_entry(process, own_entry(kJobVariables)) &&
         has_entry(process, entry.substr(0, entry.find('=') + 1) + std::to_string(rank)) &&
         fs::read_symlink(folder_of(process) + "/exe", error) == program && !error;
}

std::vector<RankProcess> other_ranks_of_host() {
  std::vector<RankProcess> ranks;
  const std::string job = own_entry(kJobVariables);
  const std::string rank = own_entry(kRankVariables);
  const std::string name = '\0' + rank.substr(0, rank.find('=') + 1);
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const int process = std::atoi(entry->path().filename().c_str());
    if (process <= 0 || process == ::getpid() || !has_entry(process, job)) continue;
    const std::string environment = environment_of(process);
    const std::size_t at = environment.find(name);
    if (at == std::string::npos) continue;
    const int number = std::atoi(environment.c_str() + at + name.size());
    if (is_rank_process(process, number)) ranks.push_back({number, process, is_stopped(process)});
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const RankProcess& a, const RankProcess& b) { return a.rank < b.rank; });
  return ranks;
}

LauncherWatch::LauncherWatch() {
  if (own_entry(kRankVariables).empty()) return;
  const int parent = ::getppid();
  // A stopped process reacts only to SIGKILL and SIGCONT; a running one ignores SIGCONT. The thread
  // does the rest.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  launcher_ = launcher_of(parent);
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, launcher_, 0));
  const bool is_launcher_gone = pidfd_ < 0 && errno == ESRCH;
  // The launcher, or the shell that it started, may have died before prctl().
  if (is_launcher_gone || ::getppid() != parent) ::raise(SIGTERM);
  end_ = ::eventfd(0, EFD_CLOEXEC);
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    if (end_ >= 0) thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // no thread can be started
  }
  if (!thread_.joinable()) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LauncherWatch::~LauncherWatch() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(end_, &one, sizeof one);
    thread_.join();
  }
  for (const int descriptor : {pidfd_, end_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

// False if this object is destroyed first.
bool LauncherWatch::await_death() const {
  pollfd waiting[2] = {{end_, POLLIN, 0}, {pidfd_, POLLIN, 0}};
  while (true) {
    const int ready = ::poll(waiting, 2, pidfd_ < 0 ? kBetweenLooksMilliseconds : -1);
    if (waiting[0].revents != 0) return false;
    const bool is_gone = pidfd_ < 0 && ::kill(launcher_, 0) != 0 && errno == ESRCH;
    if (is_gone || (ready > 0 && waiting[1].revents != 0)) return true;
  }
}

void LauncherWatch::watch() const {
  name_this_thread("launcher");
  if (!await_death()) return;
  // The kernel continues a rank whose parent died, but the parent may be a shell that still lives.
  for (const RankProcess& each : other_ranks_of_host()) {
    if (each.is_stopped) ::kill(each.process, SIGCONT);
  }
  ::kill(::getpid(), SIGTERM);
  pollfd end{end_, POLLIN, 0};
  if (::poll(&end, 1, kGraceMilliseconds) == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace tandem::comm
