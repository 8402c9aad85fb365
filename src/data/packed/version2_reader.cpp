#include "version2_reader.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "data/files/byte_stream.hpp"
#include "data/files/name_rules.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

constexpr std::uint64_t kTargetBytes = std::uint64_t{4} << 20;  // that are read at once

}  // namespace

Version2Reader::Version2Reader(const PackedCatalog& catalog, const BlockTable& table,
                               const File& file, const Touch& touch)
    : file_(file), reader_(table, file, touch) {
  require_covered(table, catalog.class_names, BlockKind::kHead, "/classes");
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    const std::string group = kGroups[i];
    const Version2Split& split = catalog.version2[i];
    require_covered(table, split.values, BlockKind::kPictures,
                    group + (split.is_encoded() ? "/bytes" : "/images"));
    if (split.is_encoded()) {
      require_covered(table, split.offsets, BlockKind::kHead, group + "/offsets");
    }
    require_covered(table, split.labels, BlockKind::kHead, group + name_of_labels(catalog));
  }
  require_only_pictures(table, catalog.version2[0].values, catalog.version2[1].values);
  read_names(catalog.class_names);
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    const Version2Split& split = catalog.version2[i];
    Index& index = splits_[i];
    index.begin = split.values.offset;
    if (catalog.multi_label == 1) {
      index.targets = split.labels;
      check_targets(kGroups[i], index);
    } else {
      read_labels(split, kGroups[i], index);
    }
    if (split.is_encoded()) read_offsets(split, kGroups[i], index);
  }
}

void Version2Reader::read_targets(Split split, std::uint64_t first, std::uint64_t count,
                                  std::uint8_t* to) {
  const StoredRange& targets = of(split).targets;
  reader_.read(targets.offset + first * targets.size, count * targets.size, to);
}

PicturePlace Version2Reader::place(Split split, std::uint64_t image) const {
  const Index& index = of(split);
  return {index.offsets[image], index.offsets[image + 1], image};
}

void Version2Reader::read(Split split, std::uint64_t begin, std::uint64_t end, std::uint8_t* to) {
  reader_.read(of(split).begin + begin, end - begin, to);
}

void Version2Reader::require_covered(const BlockTable& table, const StoredRange& range,
                                     BlockKind kind, const std::string& name) const {
  if (table.covers(range.offset, range.bytes(), kind)) return;
  throw DataError(file_.path() + ": " + name + " (" + std::to_string(range.bytes()) +
                  " bytes at offset " + std::to_string(range.offset) + ") does not lie in blocks " +
                  (kind == BlockKind::kHead ? "that are no pictures" : "of pictures") +
                  ", as the table of digests has them; the file is damaged or hostile, pack it "
                  "again");
}

// Blocks of pictures are proven when they are read, so nothing else may be in them.
void Version2Reader::require_only_pictures(const BlockTable& table, const StoredRange& train,
                                           const StoredRange& test) const {
  std::uint64_t bytes = 0;
  for (const Block& block : table.blocks()) {
    if (block.kind == BlockKind::kPictures) bytes += block.bytes;
  }
  const bool are_apart =
      train.offset + train.bytes() <= test.offset || test.offset + test.bytes() <= train.offset;
  if (are_apart && bytes == train.bytes() + test.bytes()) return;
  throw DataError(file_.path() + ": its blocks of pictures have " + std::to_string(bytes) +
                  " bytes, the pictures have " + std::to_string(train.bytes()) + " and " +
                  std::to_string(test.bytes()) +
                  ", which may not overlap; the file is damaged or hostile, pack it again");
}

void Version2Reader::read_names(const StoredRange& range) {
  std::string bytes(range.bytes(), '\0');
  reader_.read(range.offset, bytes.size(), bytes.data());
  for (std::uint64_t i = 0; i < range.count; ++i) {
    const std::string_view name(bytes.data() + i * range.size, range.size);
    classes_.emplace_back(name.substr(0, name.find('\0')));
  }
  check_class_names(classes_, file_.path() + ": /classes", kMaxClasses);
}

void Version2Reader::read_labels(const Version2Split& split, const std::string& group,
                                 Index& index) {
  // Stored little-endian, as this machine has them.
  index.labels.resize(split.labels.count);
  reader_.read(split.labels.offset, split.labels.bytes(), index.labels.data());
  for (std::size_t i = 0; i < index.labels.size(); ++i) {
    if (index.labels[i] < classes_.size()) continue;
    fail(group + "/labels", i, index.labels[i],
         "0 to " + std::to_string(classes_.size() - 1) + " are expected");
  }
}

// Reads a few MiB at a time and keeps only the first class of each image, because targets may have
// gigabytes.
void Version2Reader::check_targets(const std::string& group, Index& index) {
  const std::uint64_t classes = index.targets.size;
  const std::uint64_t rows = std::max<std::uint64_t>(kTargetBytes / classes, 1);
  std::vector<std::uint8_t> targets;
  index.has_labels = false;
  for (std::uint64_t image = 0; image < index.targets.count; ++image) {
    if (image % rows == 0) {
      targets.resize(std::min(rows, index.targets.count - image) * classes);
      reader_.read(index.targets.offset + image * classes, targets.size(), targets.data());
    }
    const auto row = targets.begin() + static_cast<std::ptrdiff_t>(image % rows * classes);
    const auto end = row + static_cast<std::ptrdiff_t>(classes);
    const auto wrong = std::find_if(row, end, [](std::uint8_t target) { return target > 1; });
    if (wrong != end) {
      fail(group + "/targets[" + std::to_string(image) + "]",
           static_cast<std::uint64_t>(wrong - row), *wrong, "0 or 1 is expected");
    }
    const auto first = std::find(row, end, 1);
    index.has_labels = index.has_labels || first != end;
    index.labels.push_back(static_cast<Label>(first == end ? 0 : first - row));
  }
}

void Version2Reader::read_offsets(const Version2Split& split, const std::string& group,
                                  Index& index) {
  std::vector<std::uint64_t>& offsets = index.offsets;
  offsets.resize(split.offsets.count);
  reader_.read(split.offsets.offset, split.offsets.bytes(), offsets.data());
  if (offsets.front() != 0) fail(group + "/offsets", 0, offsets.front(), "0 is expected");
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] > offsets[i - 1] && offsets[i] - offsets[i - 1] <= kMaxPictureBytes) continue;
    fail(group + "/offsets", i, offsets[i],
         "1 to 268,435,456 more than " + std::to_string(offsets[i - 1]) + " before it is expected");
  }
  if (offsets.back() != split.values.count) {
    fail(group + "/offsets", offsets.size() - 1, offsets.back(),
         std::to_string(split.values.count) + ", the length of " + group + "/bytes, is expected");
  }
}

void Version2Reader::fail(const std::string& array, std::uint64_t at, std::uint64_t found,
                          const std::string& expected) const {
  throw DataError(file_.path() + ": " + array + "[" + std::to_string(at) + "] is " +
                  std::to_string(found) + ", " + expected + "; pack it again");
}

}  // namespace tandem::data
