// What: a file that is memory, and how the other ranks of its host open it: by /proc/PID/fd, which
// leaves nothing anywhere, or by a name in /dev/shm for as long as it takes them. They prove that
// it is this file: processes of different containers may have the same number, and two kernels the
// same device and inode, but not the same random word at its beginning. Module-private.
// Owns: the descriptor. Threads: one at a time. Throws: nothing; a file that cannot be had is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

class MemoryFile {
 public:
  // What others must know to open it; word 0: nothing to open.
  struct Whereabouts {
    std::int64_t process = 0, number = 0, device = 0, inode = 0, word = 0;
  };

  MemoryFile() = default;
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&& other) noexcept;
  ~MemoryFile();

  static MemoryFile make_unnamed();
  static MemoryFile make_in_dev_shm();
  // That of another process, or of this one.
  static MemoryFile open(const Whereabouts& there);

  explicit operator bool() const { return descriptor_ >= 0; }
  Whereabouts whereabouts() const { return here_; }
  // Once all have opened it: takes the name and the word away, so that nothing stays when the
  // processes end, and all of it is 0.
  void withdraw();

  bool resize(std::size_t bytes);
  // Has the kernel set memory aside for these bytes; false where there is none. Without, a page
  // that is not there when it is first written ends the process by SIGBUS.
  bool reserve(std::size_t first, std::size_t bytes);
  // nullptr where it cannot be mapped. The mapping outlives the file.
  void* map(std::size_t bytes) const;

 private:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  // Writes a word and notes the rest. A file that cannot be described is closed.
  void describe(std::uint64_t word);

  int descriptor_ = -1;
  bool is_named_ = false;
  Whereabouts here_;
};

// Collective. Those of all ranks.
std::vector<MemoryFile::Whereabouts> gather(Communicator& host,
                                            const MemoryFile::Whereabouts& mine);

}  // namespace tandem::comm
