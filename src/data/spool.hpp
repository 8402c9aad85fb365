// Keeps the members of an archive, which come in any order, in an unnamed file in TMPDIR until they
// are needed. One thread per object. Throws CannotCreateError if the file has no room, IoError.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "source_file.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

class Spool {
 public:
  explicit Spool(std::size_t members);

  bool holds(std::size_t index) const { return members_[index].size > 0; }
  void put(std::size_t index, SourceFile member);
  std::shared_ptr<const SourceFile> get(std::size_t index) const;

 private:
  File file_;
  std::uint64_t end_ = 0;
  std::vector<SourceFile> members_;  // without their bytes
  std::vector<std::uint64_t> offsets_;
};

}  // namespace tandem::data
