#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/kernel_file.hpp"
#include "tandem/core/spawn.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

using Clock = std::chrono::steady_clock;

// How long a killed process may take to end. One that is blocked in a dead file system never does.
constexpr std::chrono::seconds kMaxSecondsForEnd(5);
constexpr Clock::duration kLongestWait = std::chrono::seconds(1);

// A crash of the child must reach neither the terminal, nor a connection of MPI, nor a run's files.
void close_all_but(int one, int other) {
  const int null = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0 && standard != one && standard != other) ::dup2(null, standard);
  }
#ifdef SYS_close_range  // Linux 5.9; older kernels leave them open, which matters only in a crash
  const auto [low, high] = std::minmax({one, other, STDERR_FILENO}, std::less<int>());
  const int middle = one + other + STDERR_FILENO - low - high;
  const auto close_between = [](int begin, int end) {
    if (begin < end) ::syscall(SYS_close_range, static_cast<unsigned>(begin), end - 1U, 0U);
  };
  close_between(std::max(low, STDERR_FILENO) + 1, middle);
  close_between(std::max(middle, STDERR_FILENO) + 1, high);
  ::syscall(SYS_close_range, static_cast<unsigned>(high) + 1, ~0U, 0U);
#endif
}

std::uint64_t mapped_bytes() {
  return field_of(read_kernel_file("/proc/self/status").value_or(""), "VmSize").value_or(0);
}

// `beyond` separates the two limits of processor time: at the first the child dies of SIGXCPU, at
// the second of SIGKILL, which would look like a kill from outside.
void limit(int resource, rlim_t most, rlim_t beyond = 0) {
  rlimit limits{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limits);
  limits.rlim_cur = std::min(limits.rlim_max, most);
  limits.rlim_max = std::min(limits.rlim_max, most + beyond);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limits);
}

void confine_child(const File& file, int answer, const ChildLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A launcher or library may have put handlers there that print a page.
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGXCPU}) {
    std::signal(signal, SIG_DFL);
  }
  std::signal(SIGPIPE, SIG_IGN);  // the parent may stop reading early
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.processor_seconds, 1);
  limit(RLIMIT_AS, mapped_bytes() + limits.memory);
  close_all_but(file.descriptor(), answer);
}

// Sends the exit code in a byte, then what the work returned, or the message of its error.
[[noreturn]] void run_and_exit(const File& file, File& answer, const ChildLimits& limits,
                               const std::function<std::string()>& work) {
  std::string reply;
  try {
    confine_child(file, answer.descriptor(), limits);
    reply = '\0' + work();
  } catch (const Error& error) {
    reply = static_cast<char>(error.code()) + std::string(error.what());
  } catch (const std::exception& error) {
    reply =
        static_cast<char>(ExitCode::kBadData) + file.path() + ": cannot be parsed: " + error.what();
  }
  try {
    answer.write(reply.data(), reply.size());
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

enum class End { kClosed, kLate, kTooLong };

// Reads what the child sends until it closes the pipe.
End receive(int pipe, const ChildLimits& limits, const Touch& touch, std::string& reply) {
  const auto deadline = Clock::now() + limits.time;
  std::vector<char> part(std::size_t{1} << 16);
  for (;;) {
    call(touch);  // the child has a time limit of its own
    const auto left = deadline - Clock::now();
    if (left.count() <= 0) return End::kLate;
    pollfd waiting{pipe, POLLIN, 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::min(left, kLongestWait));
    const int ready = ::poll(&waiting, 1, static_cast<int>(wait.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return End::kLate;
    const ssize_t got = ::read(pipe, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return End::kClosed;
    if (static_cast<std::uint64_t>(got) > 1 + limits.reply_bytes - reply.size()) {
      return End::kTooLong;
    }
    reply.append(part.data(), static_cast<std::size_t>(got));
  }
}

// Waits for a process that was killed or is about to end; false if it does not end in time.
bool await_end(pid_t child, int& status) {
  const auto deadline = Clock::now() + kMaxSecondsForEnd;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) return true;
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

[[noreturn]] void throw_error_of(const std::string& reply) {
  const auto code = static_cast<ExitCode>(static_cast<unsigned char>(reply[0]));
  if (code == ExitCode::kBadData) throw DataError(reply.substr(1));
  if (code == ExitCode::kIo) throw IoError(reply.substr(1));
  throw Error(code, reply.substr(1));
}

}  // namespace

std::string run_in_child(const File& file, const ChildLimits& limits,
                         const std::function<std::string()>& work, const Touch& touch) {
  constexpr char kAdvice[] = "; the file is damaged or hostile, pack it again";
  const std::string& path = file.path();
  Pipe pipe = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) {
    throw IoError(path + ": no process can be started to check it: " + errno_text());
  }
  if (child == 0) run_and_exit(file, pipe.writing, limits, work);
  pipe.writing.close();
  std::string reply;
  const End end = receive(pipe.reading.descriptor(), limits, touch, reply);
  if (end != End::kClosed) ::kill(child, SIGKILL);
  int status = 0;
  if (!await_end(child, status)) {
    ::kill(child, SIGKILL);
    throw IoError(path + ": the process that parses it cannot be ended; check the file system");
  }
  if (end == End::kLate) {
    throw DataError(path + ": parsing it took more than " +
                    format_real(std::chrono::duration<double>(limits.time).count()) +
                    " s and was ended" + kAdvice);
  }
  if (end == End::kTooLong) {
    throw DataError(path + ": it claims more than a file of its size can hold" + kAdvice);
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    throw Error(ExitCode{kSignalBase + SIGKILL},
                path +
                    ": the process that parses it was killed, as by the system when memory runs "
                    "out; start again");
  }
  if (status != 0 || reply.empty()) {
    throw DataError(path + ": parsing it ended its process" +
                    (WIFSIGNALED(status) ? " by signal " + std::to_string(WTERMSIG(status)) : "") +
                    kAdvice);
  }
  if (reply[0] != '\0') throw_error_of(reply);
  reply.erase(0, 1);
  return reply;
}

}  // namespace tandem::data
