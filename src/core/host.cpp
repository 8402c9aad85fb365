#include "tandem/core/host.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>

namespace tandem {
namespace {

constexpr rlim_t kEnoughFiles = 65'536;

// open() returns the lowest free descriptor, so the order matters. Opened in the wrong direction,
// as GNU coreutils does (stdopen.c), so that a write to a closed stream fails and is noticed.
void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kEnoughFiles) return;
  files.rlim_cur = std::min(files.rlim_max, kEnoughFiles);
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace

std::string kernel_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

std::vector<int> allowed_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return {0};
  std::vector<int> cpus;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &mask)) cpus.push_back(static_cast<int>(i));
  }
  return cpus;
}

int cores_of(const std::vector<int>& cpus, const std::string& folder) {
  std::set<std::string> cores;
  for (const int cpu : cpus) {
    const std::string name = "cpu" + std::to_string(cpu);
    std::ifstream file(folder + "/" + name + "/topology/thread_siblings_list");
    std::string siblings;
    std::getline(file, siblings);
    cores.insert(siblings.empty() ? name : siblings);
  }
  return static_cast<int>(cores.size());
}

void prepare_process() {
  open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  allow_many_files();
}

}  // namespace tandem
