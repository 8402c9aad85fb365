// One input file, read as a whole. Any thread may read it. Throws DataError if the file is shorter
// or longer than expected; IoError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "byte_stream.hpp"
#include "name_rules.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/span.hpp"

namespace tandem::data {

struct SourceFile {
  std::string name;   // as published
  std::string where;  // as messages name it
  std::unique_ptr<std::uint8_t[]> bytes;
  std::size_t size = 0;
};

// "WHERE: at offset N: found …, expected …; check or fetch the file again"
DataError fault_at(const std::string& where, std::uint64_t offset, const std::string& found,
                   const std::string& expected);

// The whole stream, whose first bytes `have` were read before. Its end must be at `size`.
// DataError if the decompressed data need more memory than is `available`, because the OOM killer
// would end the process.
SourceFile read_exactly(ByteStream& stream, std::string name, std::size_t size,
                        Span<const std::uint8_t> have = {},
                        const std::optional<MemoryRoom>& available = memory_room());

// "<SHA-256>  <name>\n", which is what sha256sum prints.
std::string digest_line(const SourceFile& file);
// SHA-256 of these lines.
std::string digest_of(const std::vector<SourceFile>& files);

// One class a line, at most `most`; empty lines at the end are ignored.
std::vector<std::string> parse_class_names(const std::string& text, const std::string& where,
                                           std::size_t most = kMaxListedClasses);
// Those of a file.
std::vector<std::string> read_class_names(const std::string& path,
                                          std::size_t most = kMaxListedClasses);

// Keeps the members of an archive, which come in any order, in an unnamed file in TMPDIR until they
// are needed. One thread per object. Throws CannotCreateError if the file has no room, IoError.
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
