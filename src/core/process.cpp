#include "tandem/core/process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

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

void prepare_process() {
  open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  allow_many_files();
}

}  // namespace tandem
