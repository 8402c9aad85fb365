#include "terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "tandem/comm/launcher.hpp"
#include "tandem/comm/launchers.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kUsualColumns = 80;
constexpr char kSelf[] = "/proc/self";

bool can_redraw() {
  const char* term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string(term) != "dumb";
}

// The process whose streams show the output's destination: the uppermost of the launcher's
// processes on this host. A rank of mpirun has a pseudo terminal of its own as standard output and
// a pipe as standard error, which reveal nothing. Empty if the launcher's first process is on
// another host.
std::string process_that_writes() {
  const comm::Launcher launcher = comm::launcher_of_process();
  if (launcher.words == nullptr) return kSelf;
  std::string found;
  for (int process = ::getppid(); process > 1; process = comm::parent_of(process)) {
    const std::string folder = "/proc/" + std::to_string(process);
    std::error_code error;
    const std::string program = std::filesystem::read_symlink(folder + "/exe", error).filename();
    const auto& names = launcher.programs;
    if (std::find(names.begin(), names.end(), program) == names.end()) break;
    found = folder;
  }
  return found;
}

enum class End { kTerminal, kPipe, kOther };

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// The end of a stream of this process, opened only if it is a terminal.
End end_of(const std::string& process, const std::string& stream, std::optional<File>& terminal) {
  struct stat status {};
  if (is_regular_file("/proc/self/fd/" + stream))
    return End::kOther;  // a script between may redirect it
  const std::string path = process + "/fd/" + stream;
  if (::stat(path.c_str(), &status) != 0) return End::kOther;
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return End::kPipe;
  if (!S_ISCHR(status.st_mode)) return End::kOther;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return End::kOther;
  File file(descriptor, path);
  if (::isatty(descriptor) != 1) return End::kOther;
  terminal = std::move(file);
  return End::kTerminal;
}

}  // namespace

Terminal::Terminal(File file, bool shows_standard_output, bool shows_standard_error)
    : file_(std::move(file)),
      shows_standard_output_(shows_standard_output),
      shows_standard_error_(shows_standard_error) {}

std::optional<Terminal> Terminal::find() {
  const std::string process = process_that_writes();
  if (!can_redraw() || process.empty()) return std::nullopt;
  std::optional<File> terminal;
  const End output = end_of(process, "1", terminal);
  const End error = end_of(process, "2", terminal);
  if (!terminal || output == End::kPipe || error == End::kPipe) return std::nullopt;
  return Terminal(std::move(*terminal), output == End::kTerminal, error == End::kTerminal);
}

std::size_t Terminal::columns() const {
  struct winsize size {};
  const bool is_known = ::ioctl(file_.descriptor(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUsualColumns;
}

StopNotice find_stop_notice() {
  StopNotice notice;
  notice.descriptor = STDERR_FILENO;
  const std::string process = process_that_writes();
  if (process.empty() || process == kSelf) return notice;
  if (!comm::launcher_of_process().holds_output_after_interrupt) return notice;
  notice.launcher = getppid();
  notice.launcher_children = StopSignal::count_children(notice.launcher);
  if (is_regular_file(std::string(kSelf) + "/fd/2")) return notice;
  const std::string error = process + "/fd/2";
  const int terminal = ::open(error.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (terminal >= 0 && ::isatty(terminal) == 1) {
    notice.descriptor = terminal;
    return notice;
  }
  if (terminal >= 0) ::close(terminal);
  if (is_same_file(process + "/fd/1", error)) notice.descriptor = STDOUT_FILENO;
  return notice;
}

bool allows_colors() {
  const char* refusal = std::getenv("NO_COLOR");
  return refusal == nullptr || *refusal == '\0';
}

}  // namespace tandem::app
