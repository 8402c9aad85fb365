// A library for LD_PRELOAD that harms its process at one system call on the files below one folder.
//
//   FAULT_POINTS_FOLDER=runs/a/checkpoints
//     the folder, as the program itself spells it
//   FAULT_POINTS_LOG=FILE
//     gets a line "CALL PATH" of each such call, before it is made
//   FAULT_POINTS=CALL:N:ACTION
//     what happens at the N-th CALL (`any`: of all calls), counted from 1: `kill` or `kill-after`
//     (SIGKILL before or after it), `ENOSPC` or `EIO` (it fails), `short` (a write writes half),
//     `flip` (a write writes its first bit wrongly)
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string>

#include "fault_plan.hpp"

namespace {

// The same function of the library that would have been called without this one.
template <typename Function>
Function* original(Function* /*own*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define ORIGINAL(function) original(&function, #function)

// Never destroyed, because destructors of others still close files.
tandem::testing::FaultPlan& plan() {
  static auto& instance = *new tandem::testing::FaultPlan;
  return instance;
}

void kill_this_process() {
  ::kill(::getpid(), SIGKILL);
  ::pause();
}

bool is_failure(const std::string& action) { return action == "ENOSPC" || action == "EIO"; }

// Makes the call, or what is to happen in place of it.
template <typename Call>
auto carry_out(const std::string& action, const Call& call) -> decltype(call()) {
  if (action == "kill") kill_this_process();
  if (is_failure(action)) {
    errno = action == "EIO" ? EIO : ENOSPC;
    return -1;
  }
  const auto result = call();
  if (action == "kill-after") kill_this_process();
  return result;
}

// A call on a path or a descriptor.
template <typename File, typename Call>
auto meet(const char* name, File file, const Call& call) -> decltype(call()) {
  return carry_out(plan().action_at(name, plan().path_of(file)), call);
}

template <typename Call>
int open_file(const char* path, const Call& call) {
  const std::string ours = plan().path_of(path);
  const int descriptor = carry_out(plan().action_at("open", ours), call);
  plan().opened(descriptor, ours);
  return descriptor;
}

mode_t mode_of(int flags, va_list rest) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(rest, mode_t) : 0;
}

// Writes the bytes by put(data, bytes), or what is to be written in place of them.
template <typename Put>
ssize_t write_by(const Put& put, const void* data, std::size_t bytes, const std::string& action) {
  std::string changed;
  if (action == "flip") {
    changed.assign(static_cast<const char*>(data), bytes);
    changed.at(0) = static_cast<char>(changed.at(0) ^ 1);
    data = changed.data();
  }
  if (action == "short") bytes = (bytes + 1) / 2;
  return carry_out(action, [&] { return put(data, bytes); });
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_file(path, [&] { return ORIGINAL(open)(path, flags, mode); });
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_file(path, [&] { return ORIGINAL(openat)(folder, path, flags, mode); });
}

ssize_t write(int file, const void* data, std::size_t bytes) {
  const auto put = [file](const void* from, std::size_t size) {
    return ORIGINAL(write)(file, from, size);
  };
  return write_by(put, data, bytes, plan().action_at("write", plan().path_of(file)));
}

ssize_t pwrite(int file, const void* data, std::size_t bytes, off_t offset) {
  const auto put = [file, offset](const void* from, std::size_t size) {
    return ORIGINAL(pwrite)(file, from, size, offset);
  };
  return write_by(put, data, bytes, plan().action_at("write", plan().path_of(file)));
}

ssize_t pread(int file, void* data, std::size_t bytes, off_t offset) {
  return meet("read", file, [&] { return ORIGINAL(pread)(file, data, bytes, offset); });
}

off_t lseek(int file, off_t offset, int whence) noexcept {
  return meet("lseek", file, [&] { return ORIGINAL(lseek)(file, offset, whence); });
}

int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  return meet("sync_file_range", file,
              [&] { return ORIGINAL(sync_file_range)(file, offset, bytes, flags); });
}

int fsync(int file) {
  return meet("fsync", file, [&] { return ORIGINAL(fsync)(file); });
}

int close(int file) {
  const std::string action = plan().action_at("close", plan().path_of(file));
  plan().closed(file);
  if (is_failure(action)) ORIGINAL(close)(file);  // Linux releases it all the same
  return carry_out(action, [&] { return ORIGINAL(close)(file); });
}

int closedir(DIR* folder) {
  plan().closed(::dirfd(folder));
  return ORIGINAL(closedir)(folder);
}

int rename(const char* from, const char* to) noexcept {
  return meet("rename", to, [&] { return ORIGINAL(rename)(from, to); });
}

int link(const char* from, const char* to) noexcept {
  return meet("link", to, [&] { return ORIGINAL(link)(from, to); });
}

int unlink(const char* path) noexcept {
  return meet("unlink", path, [&] { return ORIGINAL(unlink)(path); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  return meet("mkdir", path, [&] { return ORIGINAL(mkdir)(path, mode); });
}

// With 64-bit offsets, which are these.
static_assert(sizeof(off_t) == sizeof(off64_t), "the calls below take other arguments");
int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
ssize_t pwrite64(int, const void*, std::size_t, off64_t) __attribute__((alias("pwrite")));
ssize_t pread64(int, void*, std::size_t, off64_t) __attribute__((alias("pread")));
off64_t lseek64(int, off64_t, int) noexcept __attribute__((alias("lseek")));

}  // extern "C"
