// A file in memory that the other ranks of a host open, through /proc/PID/fd, which leaves nothing
// behind, or by a name in /dev/shm until all have opened it. A random word at its beginning
// identifies the file: processes of different containers may have the same PID, and files of two
// kernels the same device and inode. One thread at a time. Does not throw; on failure the object is
// false.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::comm {

class MemoryFile {
 public:
  // Identifies the file for other ranks; word 0: no file.
  struct SharedFileId {
    std::int64_t process = 0, number = 0, device = 0, inode = 0, word = 0;
  };

  MemoryFile() = default;
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&& other) noexcept;
  ~MemoryFile();

  static MemoryFile make_unnamed();
  static MemoryFile make_in_dev_shm();
  // Opens the file of another process, or of this one.
  static MemoryFile open(const SharedFileId& there);

  explicit operator bool() const { return descriptor_ >= 0; }
  SharedFileId id() const { return id_; }
  // Call it once all have opened the file. Removes the name, so that nothing stays when the
  // processes end, and the word, so that all bytes are 0.
  void withdraw();

  bool resize(std::size_t bytes);
  // Allocates the pages of these bytes; false if there is no memory. Without this, the first write
  // to a page that cannot be allocated ends the process by SIGBUS.
  bool reserve(std::size_t first, std::size_t bytes);
  // nullptr if it cannot be mapped. The mapping outlives this object.
  void* map(std::size_t bytes) const;

 private:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  // Writes the word into the file and sets id_. Closes the file on failure.
  void write_id(std::uint64_t word);

  int descriptor_ = -1;
  bool is_named_ = false;
  SharedFileId id_;
};

}  // namespace tandem::comm
