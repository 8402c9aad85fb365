#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr rlim_t kMemory = rlim_t{2} << 30;  // beyond what the process has mapped already

std::string errno_text() { return std::strerror(errno); }

void limit_child() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A launcher or library may have put handlers there that print a page.
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT}) {
    std::signal(signal, SIG_DFL);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t mapped = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  const rlimit memory{mapped + kMemory, mapped + kMemory};
  ::setrlimit(RLIMIT_AS, &memory);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {  // the last words of a crash are not for the user
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
  }
}

// Sends nothing where the work succeeds, else the exit code in a byte and the message.
[[noreturn]] void run_and_exit(const std::string& path, int answer,
                               const std::function<void()>& work) {
  limit_child();
  std::string reply;
  try {
    work();
  } catch (const Error& error) {
    reply = static_cast<char>(error.code()) + std::string(error.what());
  } catch (const std::exception& error) {
    reply = static_cast<char>(ExitCode::kBadData) + path + ": cannot be parsed: " + error.what();
  }
  const ssize_t sent = ::write(answer, reply.data(), reply.size());
  ::_exit(sent == static_cast<ssize_t>(reply.size()) ? 0 : 1);
}

// What the child sends until it closes the pipe; `late` where `limit` is over before.
std::string receive(int pipe, std::chrono::milliseconds limit, bool& late) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::string reply;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    late = ready <= 0;
    if (late) return reply;
    std::array<char, 4096> part;
    const ssize_t got = ::read(pipe, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return reply;
    reply.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

void run_in_child(const std::string& path, std::chrono::milliseconds limit,
                  const std::function<void()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw IoError("no pipe can be made: " + errno_text());
  const pid_t child = ::fork();
  if (child < 0) {
    const std::string reason = errno_text();
    ::close(ends[0]);
    ::close(ends[1]);
    throw IoError(path + ": no process can be started to check it: " + reason);
  }
  if (child == 0) run_and_exit(path, ends[1], work);
  ::close(ends[1]);
  bool late = false;
  const std::string reply = receive(ends[0], limit, late);
  ::close(ends[0]);
  if (late) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) {
    throw DataError(path + ": parsing it took more than " +
                    format_real(std::chrono::duration<double>(limit).count()) +
                    " s and was ended; the file is damaged or hostile, pack it again");
  }
  if (!reply.empty()) {
    throw Error(static_cast<ExitCode>(static_cast<unsigned char>(reply[0])), reply.substr(1));
  }
  if (status != 0) {
    throw DataError(path + ": parsing it ended its process" +
                    (WIFSIGNALED(status) ? " by signal " + std::to_string(WTERMSIG(status)) : "") +
                    "; the file is damaged or hostile, pack it again");
  }
}

}  // namespace tandem::data
