// A library for LD_PRELOAD that logs its process's system calls on the files below some folders,
// and injects a fault at one of them.
//
//   FAULT_POINTS_FOLDER=runs/a/checkpoints:data.h5:<stdout>:<memfd>
//     what is watched: folders, files, standard output, memfd_create()
//   FAULT_POINTS_LOG=FILE
//     gets a line "CALL PATH" of each such call, before it is made
//   FAULT_POINTS_RECORD=FILE
//     gets each call that changed something, with the bytes written (call_record.hpp)
//   FAULT_POINTS=CALL:N:ACTION
//     what happens at the N-th CALL, counted from 1; with `N+` also at all later ones. CALL `any`:
//     all calls; `change`: calls that change or sync; `CALL@TEXT`: calls on files with TEXT in
//     their name. ACTION `kill` or `kill-after`: SIGKILL before or after it; `stop`: SIGUSR1 before
//     it; `slow`: half a second of delay before it; the name of an error: it fails; `short`: a
//     write writes half; `flip`: a write flips its first bit
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

#include "fault_calls.hpp"

namespace testing = tandem::testing;
using testing::change;
using testing::change_file;
using testing::change_names;
using testing::meet;
using testing::plan;

// The watched path of a call relative to an open folder.
#define AT(folder, path) plan().path_of(folder, path)
#define PATH(path) plan().path_of(path)
#define OPEN(path, flags, call)                      \
  va_list rest;                                      \
  va_start(rest, flags);                             \
  const mode_t mode = testing::mode_of(flags, rest); \
  va_end(rest);                                      \
  return testing::open_file(path, flags, [&] { return call; })

namespace {
[[gnu::constructor]] void prepare() { testing::keep_locks_over_forks(); }
}  // namespace

extern "C" {

// For fork_server.cpp: a process that was forked takes the plan of its own environment.
void read_fault_plan_again() {
  testing::plan_in_use() = new testing::FaultPlan;
  testing::record_in_use() = new testing::CallRecord;
}

int open(const char* path, int flags, ...) {
  OPEN(PATH(path), flags, ORIGINAL(open)(path, flags, mode));
}

int openat(int folder, const char* path, int flags, ...) {
  OPEN(AT(folder, path), flags, ORIGINAL(openat)(folder, path, flags, mode));
}

int memfd_create(const char* name, unsigned flags) noexcept {
  const std::string path = plan().watches("<memfd>") ? "<memfd>" : "";
  const int file = testing::carry_out(plan().action_at("create", path, true),
                                      [&] { return ORIGINAL(memfd_create)(name, flags); });
  plan().opened(file, path);
  return file;
}

DIR* opendir(const char* path) {
  return meet("open", path, [&] { return ORIGINAL(opendir)(path); });
}

int stat(const char* path, struct stat* status) noexcept {
  return meet("stat", path, [&] { return ORIGINAL(stat)(path, status); });
}

int lstat(const char* path, struct stat* status) noexcept {
  return meet("stat", path, [&] { return ORIGINAL(lstat)(path, status); });
}

int fstat(int file, struct stat* status) noexcept {
  return meet("fstat", file, [&] { return ORIGINAL(fstat)(file, status); });
}

ssize_t read(int file, void* data, std::size_t bytes) {
  return meet("read", file, [&] { return ORIGINAL(read)(file, data, bytes); });
}

ssize_t pread(int file, void* data, std::size_t bytes, off_t offset) {
  return meet("read", file, [&] { return ORIGINAL(pread)(file, data, bytes, offset); });
}

off_t lseek(int file, off_t offset, int whence) noexcept {
  return meet("lseek", file, [&] { return ORIGINAL(lseek)(file, offset, whence); });
}

ssize_t write(int file, const void* data, std::size_t bytes) {
  const auto put = [file](const void* from, std::size_t size) {
    return ORIGINAL(write)(file, from, size);
  };
  return testing::write_by(file, put, data, bytes);
}

ssize_t pwrite(int file, const void* data, std::size_t bytes, off_t offset) {
  const auto put = [file, offset](const void* from, std::size_t size) {
    return ORIGINAL(pwrite)(file, from, size, offset);
  };
  return testing::write_by(file, put, data, bytes, offset);
}

ssize_t writev(int file, const iovec* parts, int count) {
  return change(
      "write", plan().path_of(file), [&] { return ORIGINAL(writev)(file, parts, count); },
      [&](ssize_t written) { testing::note_written(file, written); });
}

ssize_t sendfile(int to, int from, off_t* offset, std::size_t bytes) noexcept {
  return change(
      "write", plan().path_of(to), [&] { return ORIGINAL(sendfile)(to, from, offset, bytes); },
      [&](ssize_t written) { testing::note_written(to, written); });
}

ssize_t copy_file_range(int from, off64_t* at, int to, off64_t* offset, std::size_t bytes,
                        unsigned flags) {
  return change(
      "write", plan().path_of(to),
      [&] { return ORIGINAL(copy_file_range)(from, at, to, offset, bytes, flags); },
      [&](ssize_t written) { testing::note_written(to, written); });
}

int ftruncate(int file, off_t bytes) noexcept {
  return change_file(
      "ftruncate", file, [&] { return ORIGINAL(ftruncate)(file, bytes); }, bytes);
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
  return change_file(
      "fallocate", file, [&] { return ORIGINAL(fallocate)(file, mode, offset, bytes); },
      mode == 0 ? offset + bytes : 0);
}

// Returns its error; the other calls set errno.
int posix_fallocate(int file, off_t offset, off_t bytes) {
  const auto call = [&] {
    errno = ORIGINAL(posix_fallocate)(file, offset, bytes);
    return errno == 0 ? 0 : -1;
  };
  return change_file("fallocate", file, call, offset + bytes) == 0 ? 0 : errno;
}

int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  return meet("sync_file_range", file,
              [&] { return ORIGINAL(sync_file_range)(file, offset, bytes, flags); });
}

int fsync(int file) {
  return change_file("fsync", file, [&] { return ORIGINAL(fsync)(file); });
}

int fdatasync(int file) {
  return change_file("fdatasync", file, [&] { return ORIGINAL(fdatasync)(file); });
}

int close(int file) {
  const std::string path = plan().path_of(file);
  const std::string action = plan().action_at("close", path, false);
  std::unique_lock<std::mutex> lock;
  if (!path.empty() && testing::record().is_wanted()) {
    lock = testing::record().lock();
    testing::record().add("close", file, 0, nullptr, 0);
  }
  plan().closed(file);
  if (testing::error_of(action) != 0) ORIGINAL(close)(file);  // Linux closes it despite an error
  return testing::carry_out(action, [&] { return ORIGINAL(close)(file); });
}

int closedir(DIR* folder) {
  plan().closed(::dirfd(folder));
  return ORIGINAL(closedir)(folder);
}

int rename(const char* from, const char* to) noexcept {
  return change_names("rename", PATH(from), PATH(to), [&] { return ORIGINAL(rename)(from, to); });
}

int renameat2(int folder, const char* from, int other, const char* to, unsigned flags) noexcept {
  const char* name = (flags & RENAME_EXCHANGE) != 0 ? "exchange" : "rename";
  return change_names(name, AT(folder, from), AT(other, to),
                      [&] { return ORIGINAL(renameat2)(folder, from, other, to, flags); });
}

int link(const char* from, const char* to) noexcept {
  return change_names("link", PATH(from), PATH(to), [&] { return ORIGINAL(link)(from, to); });
}

int linkat(int folder, const char* from, int other, const char* to, int flags) noexcept {
  return change_names("link", AT(folder, from), AT(other, to),
                      [&] { return ORIGINAL(linkat)(folder, from, other, to, flags); });
}

int unlink(const char* path) noexcept {
  return change_names("unlink", PATH(path), "", [&] { return ORIGINAL(unlink)(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  return change_names("unlink", AT(folder, path), "",
                      [&] { return ORIGINAL(unlinkat)(folder, path, flags); });
}

int rmdir(const char* path) noexcept {
  return change_names("unlink", PATH(path), "", [&] { return ORIGINAL(rmdir)(path); });
}

int remove(const char* path) noexcept {
  return change_names("unlink", PATH(path), "", [&] { return ORIGINAL(remove)(path); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  return change_names("mkdir", PATH(path), "", [&] { return ORIGINAL(mkdir)(path, mode); });
}

// With 64-bit offsets, which are these.
static_assert(sizeof(off_t) == sizeof(off64_t), "the calls below take other arguments");
int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
int stat64(const char*, struct stat64*) noexcept __attribute__((alias("stat")));
int lstat64(const char*, struct stat64*) noexcept __attribute__((alias("lstat")));
int fstat64(int, struct stat64*) noexcept __attribute__((alias("fstat")));
ssize_t pwrite64(int, const void*, std::size_t, off64_t) __attribute__((alias("pwrite")));
ssize_t pread64(int, void*, std::size_t, off64_t) __attribute__((alias("pread")));
off64_t lseek64(int, off64_t, int) noexcept __attribute__((alias("lseek")));
int ftruncate64(int, off64_t) noexcept __attribute__((alias("ftruncate")));
int fallocate64(int, int, off64_t, off64_t) __attribute__((alias("fallocate")));
int posix_fallocate64(int, off64_t, off64_t) __attribute__((alias("posix_fallocate")));
ssize_t sendfile64(int, int, off64_t*, std::size_t) noexcept __attribute__((alias("sendfile")));

}  // extern "C"
