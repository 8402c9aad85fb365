#include "tandem/core/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "tandem/core/error.hpp"

namespace tandem {

std::string own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw UnavailableError("a pipe cannot be made: " + errno_text());
  }
  return {File(ends[0], "a pipe"), File(ends[1], "a pipe")};
}

pid_t start_program(const std::vector<std::string>& words,
                    const std::vector<std::pair<int, int>>& descriptors, const std::string& fix) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const auto& [own, given] : descriptors) {
    ::posix_spawn_file_actions_adddup2(&actions, own, given);
  }
  pid_t process = 0;
  const int error =
      ::posix_spawnp(&process, pointers.front(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return process;
  throw UnavailableError(words.front() + ": cannot be started: " + errno_text(error) +
                         (fix.empty() ? "" : "; " + fix));
}

}  // namespace tandem
