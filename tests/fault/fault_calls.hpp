// How fault_points.cpp handles an intercepted call: makes it, logs it, or does what the plan says
// instead. Any thread.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "call_record.hpp"
#include "fault_plan.hpp"

namespace tandem::testing {

// The function that would be called without this library.
template <typename Function>
Function* original(Function* /*own*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define ORIGINAL(function) tandem::testing::original(&function, #function)

// Never destroyed, because other destructors still close files.
inline FaultPlan*& plan_in_use() {
  static auto* instance = new FaultPlan;
  return instance;
}
inline FaultPlan& plan() { return *plan_in_use(); }

inline CallRecord*& record_in_use() {
  static auto* instance = new CallRecord;
  return instance;
}
inline CallRecord& record() { return *record_in_use(); }

// In the order in which change() takes the locks.
inline void keep_locks_over_forks() {
  ::pthread_atfork(
      [] {
        record().before_fork();
        plan().before_fork();
      },
      [] {
        plan().after_fork();
        record().after_fork();
      },
      [] {
        plan().after_fork();
        record().after_fork();
      });
}

inline void kill_this_process() {
  ::kill(::getpid(), SIGKILL);
  ::pause();
}

// 0 if the action is not a failure.
inline int error_of(const std::string& action) {
  static const auto& errors = *new std::map<std::string, int>{
      {"EACCES", EACCES}, {"EDQUOT", EDQUOT}, {"EIO", EIO},     {"EMFILE", EMFILE},
      {"ENOSPC", ENOSPC}, {"EROFS", EROFS},   {"EPERM", EPERM}, {"ESTALE", ESTALE}};
  const auto found = errors.find(action);
  return found == errors.end() ? 0 : found->second;
}

// Makes the call, or does the planned action instead. A pointer fails as nullptr.
template <typename Call>
auto carry_out(const std::string& action, const Call& call) -> decltype(call()) {
  using Result = decltype(call());
  if (action == "kill") kill_this_process();
  if (action == "stop") ::kill(::getpid(), SIGUSR1);
  if (action == "slow") ::usleep(500'000);
  if (const int error = error_of(action)) {
    errno = error;
    if constexpr (std::is_pointer_v<Result>) {
      return nullptr;
    } else {
      return -1;
    }
  }
  const auto result = call();
  if (action == "kill-after") kill_this_process();
  return result;
}

// A call that changes nothing.
template <typename File, typename Call>
auto meet(const char* name, File file, const Call& call) -> decltype(call()) {
  return carry_out(plan().action_at(name, plan().path_of(file), false), call);
}

// A call that changes a watched file; note() records the change.
template <typename Call, typename Note>
auto change(const char* name, const std::string& path, const Call& call, const Note& note)
    -> decltype(call()) {
  const std::string action = plan().action_at(name, path, true);
  if (path.empty() || !record().is_wanted()) return carry_out(action, call);
  const auto lock = record().lock();
  const auto result = carry_out(action, call);
  const int error = errno;
  if (result >= 0) note(result);
  errno = error;
  return result;
}

template <typename Call>
auto change_file(const char* name, int file, const Call& call, long long number = 0)
    -> decltype(call()) {
  return change(name, plan().path_of(file), call,
                [&](auto /*result*/) { record().add(name, file, number, nullptr, 0); });
}

template <typename Call>
int change_names(const char* name, const std::string& path, const std::string& second,
                 const Call& call) {
  return change(name, second.empty() ? path : second, call,
                [&](auto /*result*/) { record().add(name, -1, 0, nullptr, 0, path, second); });
}

// Records bytes that a call has just written before the file's position, read back from the file.
inline void note_written(int file, ssize_t bytes) {
  const off_t end = ORIGINAL(lseek)(file, 0, SEEK_CUR);
  std::string data(static_cast<std::size_t>(bytes), '\0');
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const int copy = ORIGINAL(open)(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = ORIGINAL(pread)(copy, data.data(), data.size(), end - bytes);
  ORIGINAL(close)(copy);
  record().add(got == bytes ? "write" : "unreadable", file, end - bytes, data.data(), data.size());
}

template <typename Call>
int open_file(const std::string& path, int flags, const Call& call) {
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  const char* name = changes ? "create" : "open";
  const std::string action = plan().action_at(name, path, changes);
  const bool is_noted = !path.empty() && record().is_wanted();
  std::unique_lock<std::mutex> lock;
  if (is_noted) lock = record().lock();
  const int descriptor = carry_out(action, call);
  const int error = errno;
  plan().opened(descriptor, path);
  if (is_noted && descriptor >= 0)
    record().add(name, descriptor, flags & O_TRUNC, nullptr, 0, path);
  errno = error;
  return descriptor;
}

inline mode_t mode_of(int flags, va_list rest) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(rest, mode_t) : 0;
}

// Writes the bytes by put(data, bytes), or the planned ones instead.
template <typename Put>
ssize_t write_by(int file, const Put& put, const void* data, std::size_t bytes, off_t offset = -1) {
  const std::string path = plan().path_of(file);
  const auto note = [&](ssize_t written) {
    const off_t at = offset >= 0 ? offset : ORIGINAL(lseek)(file, 0, SEEK_CUR) - written;
    record().add("write", file, at, data, static_cast<std::size_t>(written));
  };
  const std::string action = plan().action_at("write", path, true);
  std::string changed;
  if (action == "flip") {
    changed.assign(static_cast<const char*>(data), bytes);
    changed.at(0) = static_cast<char>(changed.at(0) ^ 1);
    data = changed.data();
  }
  if (action == "short") bytes = (bytes + 1) / 2;
  const auto call = [&] { return put(data, bytes); };
  if (path.empty() || path.front() == '<' || !record().is_wanted()) return carry_out(action, call);
  const auto lock = record().lock();
  const ssize_t written = carry_out(action, call);
  const int error = errno;
  if (written > 0) note(written);
  errno = error;
  return written;
}

}  // namespace tandem::testing
