// Files that readers open by a path and that no disk holds, because a fuzzer writes thousands of
// them a second. Throws std::system_error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/temp_dir.hpp"

namespace tandem::fuzz {

class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  std::string path() const;
  void write(std::string_view content);

 private:
  int descriptor_;
};

// A folder of links to such files, for as long as the object lives.
class MemoryFolder {
 public:
  explicit MemoryFolder(const std::vector<std::string>& names);

  const std::string& path() const { return folder_.path(); }
  MemoryFile& file(std::size_t index) { return files_[index]; }

 private:
  testing::TempDir folder_;
  std::vector<MemoryFile> files_;
};

}  // namespace tandem::fuzz
