#include "tandem/core/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "leftovers.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"

namespace tandem {
namespace {

constexpr int kMaxLeftovers = 100;
constexpr std::size_t kPiece = std::size_t{16} << 20;

// Absent if there is no such file. Other failures leave that unknown: IoError.
std::optional<struct stat> find_status(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG) return {};
  throw IoError(path + ": cannot be accessed: " + errno_text() +
                "; check the permissions of its folders, and the disk");
}

// The same of a file that is to be written. CannotCreateError without permission to search a
// folder.
std::optional<struct stat> find_output_status(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno != EACCES) return find_status(path);
  throw CannotCreateError(path + ": cannot be created: " + errno_text() +
                          "; choose a folder that exists and is writable");
}

// Not every file system supports sync_file_range().
bool means_no_such_call(int error) {
  return error == ENOSYS || error == EINVAL || error == ESPIPE || error == EOPNOTSUPP;
}

}  // namespace

File File::open_for_reading(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const std::string message = path + ": cannot be read: " + errno_text();
    if (errno == ENOENT || errno == ENOTDIR) throw MissingInputError(message + "; check the path");
    throw IoError(message);
  }
  File file(descriptor, path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw IoError(path + ": fstat failed: " + errno_text());
  if (!S_ISREG(status.st_mode)) {
    throw DataError(path + ": is " + (S_ISDIR(status.st_mode) ? "a folder" : "a special file") +
                    ", a regular file was expected; check the path");
  }
  return file;
}

File::File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

std::uint64_t File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw IoError(path_ + ": fstat failed: " + errno_text());
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t File::read_at(std::uint64_t offset, void* data, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(descriptor_, static_cast<char*>(data) + done, bytes - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw IoError(path_ + ": reading at offset " + std::to_string(offset + done) +
                    " failed: " + errno_text());
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void File::write(const void* data, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t put = ::write(descriptor_, static_cast<const char*>(data) + done, bytes - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      throw IoError(path_ + ": writing " + std::to_string(bytes) +
                    " bytes failed: " + errno_text());
    }
    done += static_cast<std::size_t>(put);
  }
}

void File::write_at(std::uint64_t offset, const void* data, std::size_t bytes) {
  if (::lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0) {
    throw IoError(path_ + ": seeking to " + std::to_string(offset) + " failed: " + errno_text());
  }
  write(data, bytes);
}

void File::append_whole(std::string_view record) {
  const std::uint64_t before = size();
  try {
    write(record.data(), record.size());
  } catch (const IoError&) {
    cut(before);
    throw;
  }
}

void File::write_through(const void* data, std::size_t bytes, const Touch& touch) {
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    const std::uint64_t before = size();
    write(static_cast<const char*>(data) + at, std::min(kPiece, bytes - at));
    // Starts writeback of all new pages, and waits for that of everything but the last pieces.
    ::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
    const std::uint64_t settled = before - before % kPiece;
    const auto length = static_cast<off_t>(settled);
    if (length > 0 && ::sync_file_range(descriptor_, 0, length, SYNC_FILE_RANGE_WAIT_BEFORE) != 0 &&
        !means_no_such_call(errno)) {
      throw IoError(path_ + ": writing back to the disk failed: " + errno_text());
    }
    call(touch);
  }
}

void File::cut(std::uint64_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    throw IoError(path_ + ": cannot be truncated to " + std::to_string(bytes) +
                  " bytes: " + errno_text());
  }
}

void File::sync() {
  if (::fdatasync(descriptor_) != 0) throw IoError(path_ + ": fdatasync failed: " + errno_text());
}

void File::forget_cached() { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

void File::sync_and_close() {
  if (::fsync(descriptor_) != 0) throw IoError(path_ + ": fsync failed: " + errno_text());
  close();
}

void File::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    throw IoError(path_ + ": close failed: " + errno_text());
  }
}

std::string read_file(const std::string& path, std::uint64_t limit) {
  const File file = File::open_for_reading(path);
  const std::uint64_t size = file.size();
  if (size > limit) {
    throw IoError(path + ": " + std::to_string(size) + " bytes, at most " + std::to_string(limit) +
                  " were expected");
  }
  std::string content(size, '\0');
  content.resize(file.read_at(0, content.data(), content.size()));
  return content;
}

bool file_exists(const std::string& path) { return find_status(path).has_value(); }

bool output_exists(const std::string& path) { return find_output_status(path).has_value(); }

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    paths.push_back(entry->path());
    entry.increment(error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw IoError(path + ": cannot be listed: " + error.message() + "; check the folder");
  }
  return paths;
}

bool is_regular_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_folder(const std::string& path) {
  const auto status = find_status(path);
  return status && S_ISDIR(status->st_mode);
}

std::string sha256_of_file(const File& file, std::uint64_t offset, const Touch& touch) {
  Sha256 digest;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (const std::size_t got = file.read_at(offset, buffer.data(), buffer.size())) {
    digest.update(buffer.data(), got);
    offset += got;
    call(touch);
  }
  return digest.finish();
}

std::string temporary_name(const std::string& path) {
  return folder_of(path) + "/." + std::filesystem::path(path).filename().string() + ".tmp." +
         maker_prefix() + std::to_string(::getpid());
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), file_(-1, "") {
  const std::string name = std::filesystem::path(path_).filename().string();
  const auto status = find_output_status(path_);
  if (name.empty() || (status && S_ISDIR(status->st_mode))) {
    throw CannotCreateError(path_ + ": is a folder, the name of a file was expected");
  }
  if (status && !S_ISREG(status->st_mode)) {
    throw CannotCreateError(path_ + ": is a device or pipe, the name of a file was expected");
  }
  remove_orphans(folder_of(path_), name);
  const std::string stem = temporary_name(path_);
  int descriptor = -1;
  // A process id may come again, in a container soon, and find what a killed process left.
  for (int attempt = 0; attempt < kMaxLeftovers; ++attempt) {
    temporary_path_ = attempt == 0 ? stem : stem + "." + std::to_string(attempt);
    descriptor =
        ::open(temporary_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  if (descriptor < 0) {
    throw CannotCreateError(path_ + ": cannot be created: " + errno_text() +
                            "; choose a folder that exists and is writable");
  }
  file_ = File(descriptor, path_);
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(temporary_path_.c_str());
}

void AtomicFile::commit() {
  file_.sync_and_close();
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    throw IoError(path_ + ": cannot be renamed into place: " + errno_text());
  }
  committed_ = true;
  sync_folder(folder_of(path_));  // only then does the rename survive a power failure
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace tandem
