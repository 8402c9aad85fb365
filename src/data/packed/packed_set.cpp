#include "tandem/data/packed_set.hpp"

#include <algorithm>
#include <cmath>

#include "data/files/file_pattern.hpp"
#include "part_names.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/listing.hpp"
#include "tandem/core/text.hpp"
#include "user_block.hpp"

namespace tandem::data {
namespace {

std::string part_of(const DatasetInfo& info) {
  return "part " + std::to_string(info.part) + " of " + std::to_string(info.parts);
}

void require_like_first(const PackedFile& file, const PackedFile& first) {
  const DatasetInfo& a = first.info();
  const DatasetInfo& b = file.info();
  const auto require = [&](bool holds, const std::string& fault) {
    if (holds) return;
    throw DataError(file.path() + ": " + fault + " than " + first.path() +
                    "; give only files of one set, which one tandem pack --files wrote");
  };
  require(b.parts > 0 && a.parts > 0 && b.set_id == a.set_id && b.parts == a.parts,
          b.parts == 0 ? "is a whole set in one file, so it is another set"
                       : "is a part of another set");
  require(b.classes == a.classes, "has other classes");
  require(b.shape.height == a.shape.height && b.shape.width == a.shape.width,
          "has images of " + b.shape.text() + ", so of another size");
  require(b.is_encoded() && a.is_encoded() && b.name == a.name &&
              b.exif_orientation == a.exif_orientation && b.multi_label == a.multi_label,
          "has another name, form, kind of labels or handling of EXIF");
}

// `of_part`: the file of each part, null for one that was not given.
void require_all_parts(const std::vector<const PackedFile*>& of_part) {
  const PackedFile& given = **std::find_if(of_part.begin(), of_part.end(),
                                           [](const PackedFile* file) { return file != nullptr; });
  std::vector<std::uint64_t> beside, missing;  // the parts that lie beside the others, and others
  for (std::uint64_t i = 0; i < of_part.size(); ++i) {
    if (of_part[i] != nullptr) continue;
    (is_regular_file(path_of_part(given.path(), i + 1)) ? beside : missing).push_back(i + 1);
  }
  if (beside.empty() && missing.empty()) return;
  const bool are_there = missing.empty();
  const std::vector<std::uint64_t>& named = are_there ? beside : missing;
  const bool is_one = named.size() == 1;
  const std::string first = path_of_part(given.path(), named.front());
  std::vector<std::string> numbers;
  for (const std::uint64_t part : named) numbers.push_back(std::to_string(part));
  throw DataError((first.empty() ? given.path() : first) + ": part" + (is_one ? " " : "s ") +
                  list_some(numbers) + " of " + std::to_string(of_part.size()) + " of the set " +
                  (is_one ? "is" : "are") +
                  (are_there ? " not given; give all of them: " + pattern_of_part(given.path())
                             : std::string(" missing; copy ") + (is_one ? "it" : "them") +
                                   ", or repeat the tandem pack command, which packs missing "
                                   "parts"));
}

// Sums over the training images of all files, so that each image has the same weight.
struct ChannelSums {
  double values = 0;
  double squares = 0;
};

ChannelSums sums_of(const DatasetInfo& info, std::size_t channel) {
  const std::size_t own = std::min(channel, info.mean.size() - 1);  // a gray file has only one
  const auto count = static_cast<double>(info.train_count);
  const double mean = info.mean[own];
  return {count * mean, count * (info.std[own] * info.std[own] + mean * mean)};
}

}  // namespace

std::vector<std::string> packed_paths(const std::string& files) { return files_of_pattern(files); }

std::string start_of_packed(const std::string& files) {
  std::string all;
  for (const std::string& path : files_of_pattern(files)) {
    std::string start(kUserBlockBytes, '\0');
    start.resize(open_packed(path).read_at(0, start.data(), start.size()));
    all += start;
  }
  return all;
}

PackedSet::PackedSet(const std::string& files, const Touch& touch, Parts parts)
    : PackedSet(files_of_pattern(files), touch, parts) {}

PackedSet::PackedSet(const std::vector<std::string>& paths, const Touch& touch, Parts parts) {
  if (paths.size() > kMaxParts) {
    throw DataError(paths.front() + " and " + format_count(paths.size() - 1) +
                    " other files: a set has at most 512 files");
  }
  for (const std::string& path : paths) files_.emplace_back(path, touch);
  info_ = files_.front().info();
  if (files_.size() == 1 && info_.is_in_parts() && parts == Parts::kOne) return;
  if (files_.size() > 1 || info_.is_in_parts()) {
    require_complete();
    combine();
  }
  require_labels();
}

void PackedSet::require_complete() const {
  const PackedFile& first = files_.front();
  const std::uint64_t all = first.info().parts;
  if (files_.size() == 1) {
    throw DataError(first.path() + ": is " + part_of(first.info()) +
                    " of a set; give all of them: " + pattern_of_part(first.path()));
  }
  for (std::size_t i = 1; i < files_.size(); ++i) require_like_first(files_[i], first);
  std::vector<const PackedFile*> of_part(all);
  for (const PackedFile& file : files_) {
    const PackedFile*& own = of_part[file.info().part - 1];
    if (own != nullptr) {
      throw DataError(file.path() + ": is " + part_of(file.info()) + ", as " + own->path() +
                      " is; give each part once");
    }
    own = &file;
  }
  require_all_parts(of_part);
  for (std::uint64_t i = 0; i < all; ++i) {
    if (files_[i].info().part == i + 1) continue;
    throw DataError(files_[i].path() + ": is " + part_of(files_[i].info()) + ", but file " +
                    std::to_string(i + 1) +
                    " in the order of names; give the files the names that tandem pack gave them");
  }
}

void PackedSet::require_labels() const {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    if (std::any_of(files_.begin(), files_.end(),
                    [split](const PackedFile& file) { return file.has_labels(split); })) {
      continue;
    }
    throw DataError(files_.front().where(split) + "/targets holds only 0" +
                    (files_.size() > 1 ? ", as it does in the other files of the set" : "") +
                    "; give each class that an image has a 1, and pack it again");
  }
}

void PackedSet::combine() {
  info_.part = 0;
  info_.train_count = info_.test_count = info_.train_bytes = info_.test_bytes = 0;
  info_.broken_files = 0;
  info_.sealed = true;
  std::string digests, sources;
  for (const PackedFile& file : files_) {
    const DatasetInfo& info = file.info();
    info_.train_count += info.train_count;
    info_.test_count += info.test_count;
    info_.train_bytes += info.train_bytes;
    info_.test_bytes += info.test_bytes;
    info_.broken_files += info.broken_files;
    info_.sealed = info_.sealed && info.sealed;
    info_.shape.channels = std::max(info_.shape.channels, info.shape.channels);
    digests += info.digest + "\n";
    sources += info.source_sha256 + "\n";
  }
  info_.digest = sha256_hex(digests);
  info_.source_sha256 = sha256_hex(sources);
  const auto channels = static_cast<std::size_t>(info_.shape.channels);
  info_.mean.assign(channels, 0);
  info_.std.assign(channels, 0);
  const auto count = static_cast<double>(info_.train_count);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    ChannelSums all;
    for (const PackedFile& file : files_) {
      const ChannelSums sums = sums_of(file.info(), channel);
      all.values += sums.values;
      all.squares += sums.squares;
    }
    const double mean = all.values / count;
    info_.mean[channel] = mean;
    info_.std[channel] =
        std::max(std::sqrt(std::max(all.squares / count - mean * mean, 0.0)), kSmallestDeviation);
  }
}

std::uint64_t PackedSet::file_bytes() const {
  std::uint64_t bytes = 0;
  for (const PackedFile& file : files_) bytes += file.file_bytes();
  return bytes;
}

void PackedSet::read(Split split, std::uint64_t first, Span<std::uint8_t> images,
                     Span<Label> labels) const {
  const std::size_t pixels = info_.shape.pixels();
  std::uint64_t done = 0;
  for (const PackedFile& file : files_) {
    const std::uint64_t available = file.info().count(split);
    const std::uint64_t some =
        first < available ? std::min<std::uint64_t>(available - first, labels.size() - done) : 0;
    if (some > 0) {
      file.read(split, first, {images.data() + done * pixels, some * pixels},
                {labels.data() + done, some});
    }
    done += some;
    first -= std::min(first, available);
  }
  if (done == labels.size()) return;
  throw InternalError("images up to " + std::to_string(first + labels.size()) + " of " +
                      std::to_string(info_.count(split)) + " were requested from a packed set");
}

void PackedSet::read_encoded(Split split, Span<std::uint8_t> bytes, Span<PicturePlace> places,
                             Span<Label> labels) const {
  if (bytes.size() != info_.encoded_bytes(split)) {
    throw InternalError("room for " + std::to_string(bytes.size()) + " bytes was given for " +
                        std::to_string(info_.encoded_bytes(split)));
  }
  std::uint64_t done = 0;
  read_files(split, places, labels,
             [&](const PackedFile& file, Span<PicturePlace> of_file, Span<Label> own) {
               const std::uint64_t some = file.info().encoded_bytes(split);
               file.read_encoded(split, {bytes.data() + done, some}, of_file, own);
               done += some;
             });
}

void PackedSet::read_index(Split split, Span<PicturePlace> places, Span<Label> labels) const {
  read_files(split, places, labels,
             [&](const PackedFile& file, Span<PicturePlace> of_file, Span<Label> own) {
               file.read_index(split, of_file, own);
             });
}

// Calls `read` for each file with the places and labels of its images.
void PackedSet::read_files(
    Split split, Span<PicturePlace> places, Span<Label> labels,
    const std::function<void(const PackedFile&, Span<PicturePlace>, Span<Label>)>& read) const {
  if (places.size() != info_.count(split) || labels.size() != places.size()) {
    throw InternalError("room for " + std::to_string(places.size()) + " files was given for " +
                        std::to_string(info_.count(split)));
  }
  std::uint64_t bytes_before = 0, images_before = 0;
  for (const PackedFile& file : files_) {
    const std::uint64_t count = file.info().count(split);
    const Span<PicturePlace> own(places.data() + images_before, count);
    read(file, own, {labels.data() + images_before, count});
    for (PicturePlace& place : own) {
      place.begin += bytes_before;
      place.end += bytes_before;
      place.number += images_before;
    }
    bytes_before += file.info().encoded_bytes(split);
    images_before += count;
  }
}

std::vector<PackedPictures> PackedSet::pictures() const {
  std::vector<PackedPictures> all;
  for (const PackedFile& file : files_) {
    const DatasetInfo& info = file.info();
    all.push_back({file.path(),
                   file.block_table(),
                   {file.pictures_at(Split::kTrain), file.pictures_at(Split::kTest)},
                   {info.train_bytes, info.test_bytes}});
  }
  return all;
}

void PackedSet::read_targets(Split split, Span<std::uint8_t> targets) const {
  std::uint64_t done = 0;
  for (const PackedFile& file : files_) {
    const std::uint64_t own = file.info().count(split) * info_.classes.size();
    file.read_targets(split, 0, targets.subspan(done, own));
    done += own;
  }
}

}  // namespace tandem::data
