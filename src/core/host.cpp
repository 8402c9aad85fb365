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
#include <memory>
#include <set>

#include "tandem/core/error.hpp"
#include "tandem/core/stop_signal.hpp"

namespace tandem {
namespace {

constexpr rlim_t kEnoughFiles = 65'536;
constexpr std::size_t kMostCpus = std::size_t{1} << 20;  // far more than a kernel can have

struct FreeCpus {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

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

// Of PID 1, such as in a container, the kernel ignores signals without a handler
// (pid_namespaces(7)).
void let_signals_end_pid_1() {
  if (::getpid() != 1) return;
  for (const int signal : kStopSignals) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;
    action.sa_handler = [](int number) { ::_exit(kSignalBase + number); };
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

std::string kernel_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

// The kernel refuses a set that is smaller than that of all possible CPUs, and does not report
// their number.
std::vector<int> allowed_cpus() {
  for (std::size_t size = CPU_SETSIZE; size <= kMostCpus; size *= 2) {
    const std::unique_ptr<cpu_set_t, FreeCpus> mask(CPU_ALLOC(size));
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    if (mask == nullptr) break;
    CPU_ZERO_S(bytes, mask.get());
    if (::sched_getaffinity(0, bytes, mask.get()) == 0) {
      std::vector<int> cpus;
      for (std::size_t i = 0; i < size; ++i) {
        if (CPU_ISSET_S(i, bytes, mask.get())) cpus.push_back(static_cast<int>(i));
      }
      return cpus;
    }
    if (errno != EINVAL) break;
  }
  return {0};
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
  let_signals_end_pid_1();
  allow_many_files();
}

}  // namespace tandem
