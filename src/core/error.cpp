#include "tandem/core/error.hpp"

#include <cstring>
#include <filesystem>
#include <system_error>

namespace tandem {
namespace {

// std::thread and std::async throw a plain std::system_error if no thread can be started.
bool is_of_a_thread(const std::exception& error) {
  const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
  return of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again &&
         dynamic_cast<const std::filesystem::filesystem_error*>(&error) == nullptr;
}

}  // namespace

std::string errno_text(int error) { return std::strerror(error); }

ExitCode code_of(const std::exception& error) {
  if (is_of_a_thread(error)) return ExitCode::kUnavailable;
  const auto* const ours = dynamic_cast<const Error*>(&error);
  return ours != nullptr ? ours->code() : ExitCode::kInternal;
}

std::string message_of(const std::exception& error) {
  if (is_of_a_thread(error)) {
    return "a thread cannot be started: the user or the control group has as many processes and "
           "threads as are allowed; raise the limit (ulimit -u, docker run --pids-limit), or lower "
           "--threads or the number of ranks";
  }
  const std::string text = error.what();
  return text.substr(0, text.find("\nException raised from"));
}

}  // namespace tandem
