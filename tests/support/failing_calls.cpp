#include "support/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tandem::testing {
namespace {

struct Fault {
  std::string call;
  std::string part_of_path;
  int error = 0;
  int times = 0;
  int skipped = 0;
  int count = 0;
};

struct State {
  std::mutex mutex;
  std::optional<Fault> fault;
  std::optional<std::vector<std::pair<std::string, std::string>>> notes;
};

// Usable before constructors and after destructors, because calls are made then, too.
State& state() {
  static auto& instance = *new State;
  return instance;
}

// Whether this call is to fail; if so, sets errno.
bool fails(const char* call, const std::string& path) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  if (state().notes) state().notes->emplace_back(call, path);
  auto& fault = state().fault;
  if (!fault || fault->call != call || fault->count == fault->times ||
      path.find(fault->part_of_path) == std::string::npos) {
    return false;
  }
  if (fault->skipped > 0) {
    --fault->skipped;
    return false;
  }
  ++fault->count;
  errno = fault->error;
  return true;
}

bool is_watched() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().fault || state().notes;
}

std::string path_of(int descriptor) {
  if (!is_watched()) return "";
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<std::size_t>(length));
}

template <typename Function>
Function* original(Function* /*own*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define ORIGINAL(function) tandem::testing::original(&function, #function)

}  // namespace

FailingCalls::FailingCalls(std::string call, std::string part_of_path, int error, int times) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().fault = Fault{std::move(call), std::move(part_of_path), error, times, 0, 0};
}

FailingCalls::~FailingCalls() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().fault.reset();
}

int FailingCalls::count() const {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().fault->count;
}

FailOnce::FailOnce(std::string call, std::string part_of_path, int error, int skipped) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().fault = Fault{std::move(call), std::move(part_of_path), error, 1, skipped, 0};
}

FailOnce::~FailOnce() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().fault.reset();
}

NotedCalls::NotedCalls() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().notes.emplace();
}

NotedCalls::~NotedCalls() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().notes.reset();
}

int NotedCalls::first(const std::string& call, const std::string& part_of_path) const {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto& notes = *state().notes;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const auto& [name, path] = notes[i];
    if (name == call && path.find(part_of_path) != std::string::npos) return static_cast<int>(i);
  }
  return -1;
}

int NotedCalls::last(const std::string& call, const std::string& part_of_path) const {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto& notes = *state().notes;
  for (std::size_t i = notes.size(); i-- > 0;) {
    const auto& [name, path] = notes[i];
    if (name == call && path.find(part_of_path) != std::string::npos) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace tandem::testing

// Replace the C library's functions for everything that is linked into this program.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = has_mode ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return tandem::testing::fails("open", path) ? -1 : ORIGINAL(open)(path, flags, mode);
}

ssize_t pread(int file, void* data, std::size_t bytes, off_t offset) {
  if (tandem::testing::fails("read", tandem::testing::path_of(file))) return -1;
  return ORIGINAL(pread)(file, data, bytes, offset);
}

ssize_t write(int file, const void* data, std::size_t bytes) {
  if (tandem::testing::fails("write", tandem::testing::path_of(file))) return -1;
  return ORIGINAL(write)(file, data, bytes);
}

int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  if (tandem::testing::fails("sync_file_range", tandem::testing::path_of(file))) return -1;
  return ORIGINAL(sync_file_range)(file, offset, bytes, flags);
}

int fsync(int file) {
  return tandem::testing::fails("fsync", tandem::testing::path_of(file)) ? -1
                                                                         : ORIGINAL(fsync)(file);
}

int fdatasync(int file) {
  return tandem::testing::fails("fdatasync", tandem::testing::path_of(file))
             ? -1
             : ORIGINAL(fdatasync)(file);
}

int close(int file) {
  const bool failed = tandem::testing::fails("close", tandem::testing::path_of(file));
  const int error = errno;
  const int result = ORIGINAL(close)(file);  // Linux closes it despite an error
  if (!failed) return result;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  return tandem::testing::fails("rename", to) ? -1 : ORIGINAL(rename)(from, to);
}

int link(const char* from, const char* to) noexcept {
  return tandem::testing::fails("link", to) ? -1 : ORIGINAL(link)(from, to);
}

int unlink(const char* path) noexcept {
  return tandem::testing::fails("unlink", path) ? -1 : ORIGINAL(unlink)(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return tandem::testing::fails("mkdir", path) ? -1 : ORIGINAL(mkdir)(path, mode);
}

int stat(const char* path, struct stat* status) noexcept {
  return tandem::testing::fails("stat", path) ? -1 : ORIGINAL(stat)(path, status);
}

// A sanitizer's, which has to know all threads. clang links it into the program itself, where
// RTLD_NEXT does not look.
int sanitized_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*),
                             void*) __asm__("__interceptor_pthread_create") __attribute__((weak));

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  if (tandem::testing::fails("pthread_create", "")) return errno;
  const auto next =
      sanitized_pthread_create == nullptr ? ORIGINAL(pthread_create) : &sanitized_pthread_create;
  return next(thread, attributes, function, argument);
}

}  // extern "C"
