// A packed data set, open for reading. One thread per object. Throws MissingInputError, IoError;
// DataError for a file that is damaged, hostile or not a data set.
//
// The constructor verifies the digest (of a set of files those of all but the files, which are
// verified when they are read) and lets HDF5 parse the file in a child process, which sends
// the file's structure back as plain values. Images and labels are then read by pread from the
// descriptor that was hashed, and their checksums are verified. HDF5 never runs in this process,
// and a file that replaces this one meanwhile is not read. Because the constructor forks, no other
// thread may hold a lock that the child needs; see data/packed/packed_catalog.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/file.hpp"
#include "tandem/core/span.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/images_view.hpp"

namespace tandem::data {

// Opens the file without reading its content. An error names the kind of file at `path`, and the
// command that makes a data set of it.
File open_packed(const std::string& path);

class PackedFile {
 public:
  // `touch` is called every few MB while the file is hashed and read.
  explicit PackedFile(const std::string& path, const Touch& touch = {});
  ~PackedFile();
  PackedFile(PackedFile&&) noexcept;
  PackedFile& operator=(PackedFile&&) noexcept;

  const DatasetInfo& info() const;
  const std::string& path() const;
  std::uint64_t file_bytes() const;
  // Reads labels.size() images of a split, from `first` on, in NCHW order, and their labels, each
  // below the number of classes. `images` has shape.pixels() bytes for each of them. Throws
  // DataError also if the file was written to after it was hashed.
  void read(Split split, std::uint64_t first, Span<std::uint8_t> images, Span<Label> labels) const;
  // For a set of picture files (info().is_encoded()): all files of a split, verified, the place of
  // each in `bytes`, and labels.
  void read_encoded(Split split, Span<std::uint8_t> bytes, Span<PicturePlace> places,
                    Span<Label> labels) const;
  // As read_encoded(), without the bytes.
  void read_index(Split split, Span<PicturePlace> places, Span<Label> labels) const;
  // For picture files: the offset of a split's first file, and the table of digests
  // (docs/formats.md).
  std::uint64_t pictures_at(Split split) const;
  std::string block_table() const;
  std::vector<Label> labels(Split split) const;
  // False if no image of the split has a label, as in a part of a multi-label set.
  bool has_labels(Split split) const;
  // For a multi-label set: the targets of consecutive images of a split, from `first` on, each with
  // as many values as there are classes.
  void read_targets(Split split, std::uint64_t first, Span<std::uint8_t> targets) const;
  // Reads the pictures of a set of picture files, and verifies them. Pixels are verified when the
  // file is opened.
  void prove_pictures() const;
  // Throws DataError if the file was written to after it was hashed.
  void require_unchanged() const;
  // "PATH: /train": begins messages about images of the split.
  std::string where(Split split) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Of the library at run time, "1.10.8".
std::string hdf5_version();

}  // namespace tandem::data
