// Files: an owned descriptor, helpers for whole files, and a file that appears under its name only
// when it is complete. One thread per object. Throws MissingInputError (no such file),
// CannotCreateError (cannot be made), IoError (read or write failed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/touch.hpp"

namespace tandem {

class File {
 public:
  // Opens for reading; a folder, a device or a file that cannot be read is refused.
  static File open_for_reading(const std::string& path);

  File(int descriptor, std::string path);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  // Reads at `offset` until `bytes` are there or the file ends; returns how many were read.
  std::size_t read_at(std::uint64_t offset, void* data, std::size_t bytes) const;
  void write(const void* data, std::size_t bytes);
  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);
  // Appends all of it or, where the file can be truncated, nothing: half a record would spoil the
  // next one.
  void append_whole(std::string_view record);
  // Writes and starts writeback as it goes. At most two pieces of 16 MiB are not on the disk yet,
  // so a large file advances steadily and its final sync is short. `touch`: after each piece.
  void write_through(const void* data, std::size_t bytes, const Touch& touch = {});
  // Makes it `bytes` long.
  void cut(std::uint64_t bytes);
  // fdatasync. Another thread may write meanwhile; bytes written before the call are durable.
  void sync();
  // Asks the kernel to drop the file from the page cache, so that later reads come from the disk.
  // Call it after sync().
  void forget_cached();
  // Checked: a network file system may report only now that a write failed.
  void close();
  // fsync, then close; both checked.
  void sync_and_close();

 private:
  int descriptor_ = -1;
  std::string path_;
};

// The whole file; IoError if it is larger than `limit` bytes.
std::string read_file(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 30);
// Both throw IoError if the system cannot tell, as without permission to search a folder.
bool file_exists(const std::string& path);
bool is_folder(const std::string& path);
// As file_exists(), of an output: CannotCreateError without permission to search its folder.
bool output_exists(const std::string& path);
bool is_regular_file(const std::string& path);  // or a link to one
// The paths of a folder's entries, unordered; empty if there is no such folder.
std::vector<std::string> list_folder(const std::string& path);
// SHA-256 of a file's bytes from `offset` to its end.
std::string sha256_of_file(const File& file, std::uint64_t offset = 0, const Touch& touch = {});

// ".NAME.tmp.HOST.NAMESPACE.PID" beside `path`, which remove_temporaries() recognizes.
std::string temporary_name(const std::string& path);

// Bytes go to temporary_name() of `path` (O_EXCL, O_NOFOLLOW); commit() makes them durable under
// `path`; without commit() the destructor removes them. The constructor first removes temporary
// files for `path` of killed processes of this PID namespace.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // For libraries that must open the file by name themselves.
  const std::string& temporary_path() const { return temporary_path_; }
  File& file() { return file_; }
  void write(std::string_view data) { file_.write(data.data(), data.size()); }
  // fsync, rename, fsync of the folder.
  void commit();

 private:
  std::string path_;
  std::string temporary_path_;
  File file_;
  bool committed_ = false;
};

// Removes the temporary files that killed processes left in a run's folder.
void remove_temporaries(const std::string& folder);

// A small file, written whole and durably.
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace tandem
