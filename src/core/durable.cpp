#include "tandem/core/durable.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

// Errors of link() on vfat, exFAT, SMB, FUSE and AFS, and for a file at its limit of links.
bool means_no_hard_links(int error) {
  return error == EPERM || error == ENOTSUP || error == EOPNOTSUPP || error == EMLINK ||
         error == ENOSYS || error == EXDEV;
}

// Replaces `to` by a copy of `from`.
void copy_durably(const std::string& from, const std::string& to, const Touch& touch = {}) {
  const File source = File::open_for_reading(from);
  AtomicFile copy(to);
  std::vector<char> buffer(kChunk);
  std::uint64_t at = 0;
  while (const std::size_t got = source.read_at(at, buffer.data(), buffer.size())) {
    copy.file().write_through(buffer.data(), got, touch);
    at += got;
  }
  copy.commit();
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void sync_folder(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Network and FUSE file systems may refuse fsync of a folder, and a folder may be writable but
  // not readable. SQLite accepts both, too.
  if (descriptor < 0 && errno == EACCES) return;
  if (descriptor < 0) {
    throw IoError(path + ": fsync of the folder failed: " + errno_text());
  }
  const File folder(descriptor, path);
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP) return;
  throw IoError(path + ": fsync of the folder failed: " + errno_text());
}

std::vector<std::string> make_folders_durably(const std::string& path) {
  std::error_code unknown;  // mkdir() reports the fault
  if (std::filesystem::is_directory(path, unknown)) return {};
  constexpr int kAttempts = 5;  // another process may remove its empty folders again
  const std::string parent = folder_of(path);
  std::vector<std::string> made;
  for (int attempt = 1;; ++attempt) {
    if (parent != path) made = make_folders_durably(parent);
    if (::mkdir(path.c_str(), 0777) == 0) break;
    const int error = errno;
    if (error == EEXIST && is_folder(path)) return made;
    if (error == ENOENT && attempt < kAttempts) continue;
    throw CannotCreateError(path + ": the folder cannot be created: " + errno_text(error));
  }
  sync_folder(parent);
  made.push_back(path);
  return made;
}

void remove_if_there(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  throw IoError(path + ": cannot be removed: " + errno_text());
}

void give_second_name(const std::string& from, const std::string& to, const Touch& touch) {
  const std::string temporary = temporary_name(to);
  remove_if_there(temporary);
  if (::link(from.c_str(), temporary.c_str()) != 0) {
    const int error = errno;
    if (means_no_hard_links(error)) return copy_durably(from, to, touch);
    throw IoError(to + ": cannot be written: " + errno_text(error));
  }
  const int error = ::rename(temporary.c_str(), to.c_str()) == 0 ? 0 : errno;
  remove_if_there(temporary);  // rename() does nothing if both names already are the same file
  if (error != 0) throw IoError(to + ": cannot be written: " + errno_text(error));
  sync_folder(folder_of(to));
}

void move_durably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    if (error != EXDEV) {
      throw IoError(from + ": cannot be moved to " + to + ": " + errno_text(error));
    }
    copy_durably(from, to);
    remove_if_there(from);
  }
  // The new name first: a power failure in between then leaves both names, not none.
  sync_folder(folder_of(to));
  sync_folder(folder_of(from));
}

bool have_equal_bytes(const std::string& one, const std::string& other, const Touch& touch) {
  struct stat first {};
  struct stat second {};
  if (::stat(one.c_str(), &first) != 0 || ::stat(other.c_str(), &second) != 0) {
    if (errno == ENOENT) return false;
    throw IoError(one + ", " + other + ": cannot be compared: " + errno_text());
  }
  if (first.st_dev == second.st_dev && first.st_ino == second.st_ino) return true;
  if (first.st_size != second.st_size) return false;
  const File mine = File::open_for_reading(one);
  const File theirs = File::open_for_reading(other);
  std::vector<char> left(kChunk);
  std::vector<char> right(kChunk);
  std::uint64_t at = 0;
  while (const std::size_t got = mine.read_at(at, left.data(), left.size())) {
    const bool is_equal = theirs.read_at(at, right.data(), got) == got &&
                          std::memcmp(left.data(), right.data(), got) == 0;
    if (!is_equal) return false;
    at += got;
    call(touch);
  }
  return true;
}

}  // namespace tandem
