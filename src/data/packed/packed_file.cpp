#include "tandem/data/packed_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "chunk_reader.hpp"
#include "data/picture_sources/foreign_file.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "user_block.hpp"
#include "version2_reader.hpp"

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
  std::vector<SplitReader> splits;  // of version 1
  // Of version 2.
  std::optional<BlockTable> table;
  std::optional<Version2Reader> version2;

  Parts(const std::string& path, Touch report)
      : file(open_packed(path)), touch(std::move(report)), version(file) {}

  SplitReader& split(Split which) { return splits[index_of(which)]; }

  void read_labels(Split which, std::uint64_t first, Span<Label> labels) {
    if (version2) {
      for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = version2->label(which, first + i);
      return;
    }
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

  // Of files: decodes them.
  void read_pictures(Split which, std::uint64_t first, std::uint64_t count, std::uint8_t* images) {
    const std::uint64_t last = first + count - 1;
    const std::uint64_t begin = version2->place(which, first).begin;
    const std::uint64_t end = version2->place(which, last).end;
    std::vector<std::uint8_t> bytes(end - begin);
    version2->read(which, begin, end, bytes.data());
    std::vector<PicturePlace> places;
    for (std::uint64_t i = first; i <= last; ++i) {
      const PicturePlace place = version2->place(which, i);
      places.push_back({place.begin - begin, place.end - begin, i});
    }
    const ImagesView view{info.shape, bytes, {}, places, where(which)};
    PixelsOf pixels_of(view);
    const std::size_t pixels = info.shape.pixels();
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(pixels_of(i), pixels, images + i * pixels);
    }
  }

  std::string where(Split which) const { return file.path() + ": " + kGroups[index_of(which)]; }

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
  FileProof proof = prove_file(parts.file, parts.touch);
  PackedCatalog catalog = describe_packed_in_child(parts.file, parts.touch);
  parts.info = info_of(catalog);
  parts.info.digest = proof.sha256;
  parts.info.sealed = proof.sealed;
  if ((catalog.version == 2) != proof.table.has_value()) {
    throw DataError(path + ": holds a data set of version " + std::to_string(catalog.version) +
                    (proof.table ? " with" : " without") +
                    " a table of digests; version 2 has one and version 1 has none: pack it again");
  }
  if (proof.table) {
    parts.table = std::move(proof.table);
    parts.version2.emplace(catalog, *parts.table, parts.file, parts.touch);
    parts.info.classes = parts.version2->classes();
    parts.require_unchanged();
    return;
  }
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
const std::string& PackedFile::path() const { return parts_->file.path(); }
std::uint64_t PackedFile::file_bytes() const {
  return static_cast<std::uint64_t>(parts_->version.bytes);
}

void PackedFile::read(Split split, std::uint64_t first, Span<std::uint8_t> images,
                      Span<Label> labels) const {
  const std::uint64_t available = info().count(split);
  const std::uint64_t count = labels.size();
  if (first > available || count > available - first) {
    throw InternalError("images " + std::to_string(first) + " to " + std::to_string(first + count) +
                        " of " + std::to_string(available) + " were requested from a packed file");
  }
  if (images.size() != count * info().shape.pixels()) {
    throw InternalError("room for " + std::to_string(images.size()) + " bytes was given for " +
                        std::to_string(count) + " images of " + info().shape.text());
  }
  if (count == 0) return;
  if (info().is_encoded()) {
    parts_->read_pictures(split, first, count, images.data());
  } else if (parts_->version2) {
    const std::uint64_t pixels = info().shape.pixels();
    parts_->version2->read(split, first * pixels, (first + count) * pixels, images.data());
  } else {
    parts_->split(split).images.read(parts_->file, first, count, images.data(), parts_->touch);
  }
  parts_->read_labels(split, first, labels);
  parts_->require_unchanged();
}

void PackedFile::read_encoded(Split split, Span<std::uint8_t> bytes, Span<PicturePlace> places,
                              Span<Label> labels) const {
  if (bytes.size() != info().encoded_bytes(split)) {
    throw InternalError("room for " + std::to_string(bytes.size()) + " bytes was given for " +
                        std::to_string(info().encoded_bytes(split)));
  }
  parts_->version2->read(split, 0, bytes.size(), bytes.data());
  read_index(split, places, labels);
}

void PackedFile::read_index(Split split, Span<PicturePlace> places, Span<Label> labels) const {
  Parts& parts = *parts_;
  if (places.size() != info().count(split) || labels.size() != places.size() ||
      !info().is_encoded()) {
    throw InternalError("room for " + std::to_string(places.size()) + " files was given for " +
                        std::to_string(info().count(split)));
  }
  for (std::uint64_t i = 0; i < places.size(); ++i) places[i] = parts.version2->place(split, i);
  parts.read_labels(split, 0, labels);
  parts.require_unchanged();
}

std::uint64_t PackedFile::pictures_at(Split split) const { return parts_->version2->begin(split); }

std::string PackedFile::block_table() const { return encode_block_table(parts_->table->blocks()); }

std::vector<Label> PackedFile::labels(Split split) const {
  std::vector<Label> labels(info().count(split));
  parts_->read_labels(split, 0, labels);
  return labels;
}

bool PackedFile::has_labels(Split split) const {
  return !parts_->version2 || parts_->version2->has_labels(split);
}

void PackedFile::read_targets(Split split, std::uint64_t first, Span<std::uint8_t> targets) const {
  const std::uint64_t classes = info().classes.size();
  const std::uint64_t available = info().count(split);
  const std::uint64_t count = targets.size() / classes;
  if (!info().multi_label || targets.size() % classes != 0 || first > available ||
      count > available - first) {
    throw InternalError(std::to_string(targets.size()) + " targets from image " +
                        std::to_string(first) + " on of " + std::to_string(available) +
                        " images were requested from a packed file");
  }
  parts_->version2->read_targets(split, first, count, targets.data());
  parts_->require_unchanged();
}

void PackedFile::prove_pictures() const {
  if (!parts_->table) return;
  parts_->table->prove(parts_->file, BlockKind::kPictures, parts_->touch);
  parts_->require_unchanged();
}

void PackedFile::require_unchanged() const { parts_->require_unchanged(); }

std::string PackedFile::where(Split split) const { return parts_->where(split); }

}  // namespace tandem::data
