// A packed data set in one file or in several. The images are those of the first file, then those
// of the next, in the order of the names of files. One thread per object. Throws MissingInputError,
// IoError; DataError as PackedFile does, and for a file that is missing, given twice, from another
// set, or of another form than the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/images_view.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/picture_blocks.hpp"

namespace tandem::data {

// The paths that `files` names, sorted by bytes; `files` is as in PackedSet's constructor.
std::vector<std::string> packed_paths(const std::string& files);

// The first bytes of all files that `files` names; `files` is as in the constructor. They hold the
// digests of the seals, and are short enough to read on every rank.
std::string start_of_packed(const std::string& files);

class PackedSet {
 public:
  // kOne: accepts a single file of a set in several files.
  enum class Parts { kAll, kOne };

  // `files`: a path; a pattern, such as train-*.h5 or train-{001..004}.h5; or several with commas
  // between them. `touch` is called every few MB while files are hashed and read.
  explicit PackedSet(const std::string& files, const Touch& touch = {}, Parts parts = Parts::kAll);

  explicit PackedSet(const std::vector<std::string>& paths, const Touch& touch = {},
                     Parts parts = Parts::kAll);

  // For all files together. For several files, the digest is the SHA-256 of their digests, one a
  // line, and likewise source_sha256. Mean and deviation of all training images follow from those
  // that the files state. There are three channels if a file has three.
  const DatasetInfo& info() const { return info_; }
  const std::vector<PackedFile>& files() const { return files_; }
  std::uint64_t file_bytes() const;
  // As the functions of PackedFile, over all files.
  void read(Split split, std::uint64_t first, Span<std::uint8_t> images, Span<Label> labels) const;
  void read_encoded(Split split, Span<std::uint8_t> bytes, Span<PicturePlace> places,
                    Span<Label> labels) const;
  void read_index(Split split, Span<PicturePlace> places, Span<Label> labels) const;
  // Of a set of picture files: the location of the pictures in each file.
  std::vector<PackedPictures> pictures() const;
  void read_targets(Split split, Span<std::uint8_t> targets) const;

 private:
  void require_complete() const;
  void require_labels() const;
  void combine();
  void read_files(
      Split split, Span<PicturePlace> places, Span<Label> labels,
      const std::function<void(const PackedFile&, Span<PicturePlace>, Span<Label>)>& read) const;

  std::vector<PackedFile> files_;
  DatasetInfo info_;
};

}  // namespace tandem::data
