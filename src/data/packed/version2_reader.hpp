// Reads a packed file of version 2 after its head was verified. One thread per object. Throws
// DataError naming the file and the fault; IoError.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "block_table.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/span.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/images_view.hpp"

namespace tandem::data {

class Version2Reader {
 public:
  // `catalog` is one that require_sound() accepted. Reads offsets, labels and names. The table, the
  // file and `touch` must outlive it.
  Version2Reader(const PackedCatalog& catalog, const BlockTable& table, const File& file,
                 const Touch& touch);

  const std::vector<std::string>& classes() const { return classes_; }
  Label label(Split split, std::uint64_t image) const { return of(split).labels[image]; }
  // False if no image of the split has any; only in a multi-label set.
  bool has_labels(Split split) const { return of(split).has_labels; }
  // Of pixels or files in the packed file.
  std::uint64_t begin(Split split) const { return of(split).begin; }
  // Of a multi-label set: the targets of `count` images of a split, verified.
  void read_targets(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* to);
  // Only for picture files.
  PicturePlace place(Split split, std::uint64_t image) const;
  // The bytes [begin, end) of the pixels or files of a split, verified.
  void read(Split split, std::uint64_t begin, std::uint64_t end, std::uint8_t* to);

 private:
  struct Index {
    std::uint64_t begin = 0;             // of pixels or files in the packed file
    std::vector<std::uint64_t> offsets;  // of files
    std::vector<Label> labels;
    bool has_labels = true;
    StoredRange targets;  // of a multi-label set
  };

  const Index& of(Split split) const { return splits_[index_of(split)]; }
  void require_only_pictures(const BlockTable& table, const StoredRange& train,
                             const StoredRange& test) const;
  void read_names(const StoredRange& range);
  void read_labels(const Version2Split& split, const std::string& group, Index& index);
  void check_targets(const std::string& group, Index& index);
  void read_offsets(const Version2Split& split, const std::string& group, Index& index);
  [[noreturn]] void fail(const std::string& array, std::uint64_t at, std::uint64_t found,
                         const std::string& expected) const;
  void require_covered(const BlockTable& table, const StoredRange& range, BlockKind kind,
                       const std::string& name) const;

  const File& file_;
  ProvenReader reader_;
  std::vector<std::string> classes_;
  std::array<Index, 2> splits_;
};

}  // namespace tandem::data
