#include "tandem/data/packed_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "chunk_reader.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/foreign_file.hpp"
#include "user_block.hpp"

namespace tandem::data {

File open_packed(const std::string& path) try {
  return File::open_for_reading(path);
} catch (const MissingInputError& error) {
  throw MissingInputError(error.what() + how_to_make(path));
} catch (const DataError&) {
  if (is_folder(path)) throw not_packed(path);
  throw;
}

// The attributes that change when a file is written to.
struct Version {
  off_t bytes;
  timespec written;

  explicit Version(const File& file) {
    struct stat status {};
    if (::fstat(file.descriptor(), &status) != 0) throw IoError(file.path() + ": fstat failed");
    bytes = status.st_size;
    written = status.st_mtim;
  }
  bool operator==(const Version& other) const {
    return bytes == other.bytes && written.tv_sec == other.written.tv_sec &&
           written.tv_nsec == other.written.tv_nsec;
  }
};

struct SplitReader {
  std::string labels_name;
  ChunkReader images;
  ChunkReader labels;

  SplitReader(StoredSplit split, const std::string& group)
      : labels_name(group + "/labels"),
        images(std::move(split.images), group + "/images"),
        labels(std::move(split.labels), labels_name) {}
};

struct PackedFile::Parts {
  File file;
  Touch touch;
  Version version;
  DatasetInfo info;
  std::vector<SplitReader> splits;

  Parts(const std::string& path, Touch report)
      : file(open_packed(path)), touch(std::move(report)), version(file) {}

  SplitReader& split(Split which) { return splits[which == Split::kTrain ? 0 : 1]; }

  void read_labels(Split which, std::uint64_t first, Span<Label> labels) {
    std::vector<std::uint8_t> bytes(labels.size());
    split(which).labels.read(file, first, bytes.size(), bytes.data(), touch);
    std::copy(bytes.begin(), bytes.end(), labels.begin());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < info.classes.size()) continue;
      throw DataError(file.path() + ": " + split(which).labels_name + "[" +
                      std::to_string(first + i) + "] is " + std::to_string(labels[i]) + ", 0 to " +
                      std::to_string(info.classes.size() - 1) + " are expected");
    }
  }

  // The digest is of the content at the time of opening.
  void require_unchanged() const {
    if (Version(file) == version) return;
    throw DataError(file.path() +
                    ": was written to while it was read; start again once the file is complete");
  }
};

PackedFile::PackedFile(const std::string& path, const Touch& touch)
    : parts_(std::make_unique<Parts>(path, touch)) {
  Parts& parts = *parts_;
  const FileProof proof = prove_file(parts.file, parts.touch);
  PackedCatalog catalog = describe_packed_in_child(parts.file, parts.touch);
  parts.info = info_of(catalog);
  parts.info.digest = proof.sha256;
  parts.info.sealed = proof.sealed;
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    parts.splits.emplace_back(std::move(catalog.splits[i]), kGroups[i]);
  }
  for (const Split split : {Split::kTrain, Split::kTest}) {
    std::vector<Label> labels(parts.info.count(split));
    parts.read_labels(split, 0, labels);
  }
  parts.require_unchanged();
}

PackedFile::~PackedFile() = default;
PackedFile::PackedFile(PackedFile&&) noexcept = default;
PackedFile& PackedFile::operator=(PackedFile&&) noexcept = default;

const DatasetInfo& PackedFile::info() const { return parts_->info; }
std::uint64_t PackedFile::file_bytes() const {
  return static_cast<std::uint64_t>(parts_->version.bytes);
}

void PackedFile::read(Split split, std::uint64_t first, Span<std::uint8_t> images,
                      Span<Label> labels) const {
  const std::uint64_t available = info().count(split);
  const std::uint64_t count = labels.size();
  if (first > available || count > available - first) {
    throw InternalError("images " + std::to_string(first) + " to " + std::to_string(first + count) +
                        " of " + std::to_string(available) + " were asked of a packed file");
  }
  if (images.size() != count * info().shape.pixels()) {
    throw InternalError("room for " + std::to_string(images.size()) + " bytes was given for " +
                        std::to_string(count) + " images of " + info().shape.text());
  }
  if (count == 0) return;
  parts_->split(split).images.read(parts_->file, first, count, images.data(), parts_->touch);
  parts_->read_labels(split, first, labels);
  parts_->require_unchanged();
}

}  // namespace tandem::data
