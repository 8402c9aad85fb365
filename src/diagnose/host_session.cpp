#include "host_session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/spawn.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::chrono::milliseconds kPatience(500);
constexpr std::chrono::milliseconds kBetweenLooks(20);

}  // namespace

HostSession::HostSession(const std::vector<std::string>& command) {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  process_ = start_program(command, {{in.reading.descriptor(), STDIN_FILENO},
                                     {out.writing.descriptor(), STDOUT_FILENO},
                                     {err.writing.descriptor(), STDERR_FILENO}});
  input_.emplace(std::move(in.writing));
  output_.emplace(std::move(out.reading));
  errors_.emplace(std::move(err.reading));
  ::fcntl(errors_->descriptor(), F_SETFL, O_NONBLOCK);
}

HostSession::~HostSession() {
  end_input();
  if (has_ended(std::chrono::steady_clock::now() + kPatience)) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, &status_, 0);
}

bool HostSession::has_ended(Time deadline) {
  while (status_ == -1) {
    int status = 0;
    const pid_t ended = ::waitpid(process_, &status, WNOHANG);
    if (ended == process_) status_ = status;
    if (ended != 0) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

void HostSession::send(const std::string& line) {
  try {
    input_->write((line + "\n").data(), line.size() + 1);
  } catch (const Error&) {
    // it has ended, which receive() finds
  }
}

std::optional<std::string> HostSession::receive(Time deadline) {
  while (true) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      const std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{output_->descriptor(), POLLIN, 0};
    if (left.count() <= 0) return std::nullopt;
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;  // read() could wait beyond the deadline
    if (ready <= 0) return std::nullopt;
    std::array<char, 4096> part{};
    const ssize_t got = ::read(output_->descriptor(), part.data(), part.size());
    if (got == 0 || (got < 0 && errno != EINTR)) return std::nullopt;
    if (got > 0) received_.append(part.data(), static_cast<std::size_t>(got));
  }
}

void HostSession::take_errors() {
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = ::read(errors_->descriptor(), part.data(), part.size())) > 0) {
    said_.append(part.data(), static_cast<std::size_t>(got));
  }
}

std::string HostSession::describe_end(Time deadline) {
  const bool ended = has_ended(deadline);
  take_errors();
  const std::vector<std::string> lines = split(trim(said_), '\n');
  std::string text = lines.empty() || lines.back().empty() ? "" : trim(lines.back()) + "; ";
  if (!ended) {
    ::kill(process_, SIGKILL);
    return text + "no answer in time";
  }
  if (WIFSIGNALED(status_)) return text + "ended by signal " + std::to_string(WTERMSIG(status_));
  return text + "exit code " + std::to_string(WEXITSTATUS(status_));
}

}  // namespace tandem::app
