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

#include "tandem/comm/launchers.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/kernel_file.hpp"
#include "tandem/core/spawn.hpp"

namespace tandem::comm {
namespace {

namespace fs = std::filesystem;

constexpr int kGraceMilliseconds = 10'000;
constexpr int kBetweenLooksMilliseconds = 200;

std::string folder_of(int process) { return "/proc/" + std::to_string(process); }

// Between zeros.
std::string environment_of(int process) {
  return '\0' + read_kernel_file(folder_of(process) + "/environ").value_or("");
}

// "NAME=VALUE" of a variable that is set, else "".
std::string own_entry(const char* name) {
  const char* const value = name == nullptr ? nullptr : std::getenv(name);
  return value == nullptr ? "" : std::string(name) + "=" + value;
}

bool has_entry(int process, const std::string& entry) {
  return !entry.empty() && environment_of(process).find('\0' + entry + '\0') != std::string::npos;
}

std::string field_of_status(int process, int field) {
  return field_of_stat(read_kernel_file(folder_of(process) + "/stat").value_or(""), field);
}

bool is_stopped(int process) {
  const std::string state = field_of_status(process, 3);
  return state == "T" || state == "t";
}

// How this process is known as a rank of its job.
struct Identity {
  std::string rank_name;  // "PMI_RANK="
  int rank = 0;
  std::string job;  // an entry of all processes of the job; "" if the launcher makes none

  std::string rank_entry(int of) const { return rank_name + std::to_string(of); }
  // The process that started a rank of this job. It may have done so by shells, which keep its
  // environment.
  int launcher_of(int process, int of) const {
    return first_without(process, job.empty() ? rank_entry(of) : job);
  }
  bool has_in_job(int process, int of) const {
    if (!has_entry(process, rank_entry(of))) return false;
    if (!job.empty()) return has_entry(process, job);
    return launcher_of(process, of) == launcher_of(::getpid(), rank);
  }
};

// `rank_name` is empty without a launcher.
Identity own_identity() {
  const Launcher launcher = launcher_of_process();
  const std::string entry = own_entry(launcher.rank);
  if (entry.empty()) return {};
  const std::size_t value = entry.find('=') + 1;
  return {entry.substr(0, value), std::atoi(entry.c_str() + value), own_entry(launcher.job)};
}

bool runs_this_program(int process) {
  std::error_code error;
  return fs::read_symlink(folder_of(process) + "/exe", error) == own_program() && !error;
}

}  // namespace

int parent_of(int process) { return std::atoi(field_of_status(process, 4).c_str()); }

int first_without(int process, const std::string& entry) {
  while (process > 1 && has_entry(process, entry)) process = parent_of(process);
  return process;
}

int launcher_rank() { return own_identity().rank; }

bool launcher_reports_exit_code() {
  // As the process was started: MPI_Init sets these variables where there is no launcher, too.
  const auto is_on = [](const char* name) {
    return name != nullptr && has_entry(::getpid(), std::string(name) + "=1");
  };
  for (const Launcher& each : all_launchers()) {
    if (is_on(each.prints)) return !is_on(each.is_quiet);
  }
  return false;
}

bool is_rank_process(int process, int rank) {
  const Identity identity = own_identity();
  return !identity.rank_name.empty() && runs_this_program(process) &&
         identity.has_in_job(process, rank);
}

std::vector<RankProcess> other_ranks_of_host() {
  std::vector<RankProcess> ranks;
  const Identity identity = own_identity();
  if (identity.rank_name.empty()) return ranks;
  const std::string name = '\0' + identity.rank_name;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const int process = std::atoi(entry->path().filename().c_str());
    if (process <= 0 || process == ::getpid() || !runs_this_program(process)) continue;
    const std::string environment = environment_of(process);
    const std::size_t at = environment.find(name);
    if (at == std::string::npos) continue;
    const int number = std::atoi(environment.c_str() + at + name.size());
    if (!identity.has_in_job(process, number)) continue;
    ranks.push_back({number, process, is_stopped(process)});
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const RankProcess& a, const RankProcess& b) { return a.rank < b.rank; });
  return ranks;
}

LauncherWatch::LauncherWatch() {
  const Identity identity = own_identity();
  if (identity.rank_name.empty()) return;
  const int parent = ::getppid();
  // A stopped process reacts only to SIGKILL and SIGCONT; a running one ignores SIGCONT. The thread
  // does the rest.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  launcher_ = identity.launcher_of(parent, identity.rank);
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
