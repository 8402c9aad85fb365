#include "version2_writer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "data/packed/packed_attributes.hpp"
#include "data/packed/packed_catalog.hpp"
#include "data/packed/user_block.hpp"
#include "hdf5_output.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/thread.hpp"

namespace tandem::data {
namespace {

// Large enough for a disk, small enough to be read for one picture.
constexpr std::size_t kMostBlockBytes = std::size_t{4} << 20;
// Size of blocks of picture files. It is smaller because training has a block of each lane in use.
constexpr std::size_t kFileBlockBytes = std::size_t{2} << 20;

using Lengths = std::vector<hsize_t>;

// An array in one piece that HDF5 gives a place now.
Hdf5Handle make_array(const Hdf5Output& file, const std::string& path, hid_t type,
                      const Lengths& extent) {
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(creation.id(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(creation.id(), false);  // equal input gives equal bytes
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                         H5Sclose);
  return file.made(H5Dcreate2(file.id(), path.c_str(), type, space.id(), H5P_DEFAULT, creation.id(),
                              H5P_DEFAULT),
                   H5Dclose, "create a dataset");
}

void write_array(const Hdf5Output& file, const std::string& path, hid_t type, hsize_t count,
                 const void* values) {
  const Hdf5Handle array = make_array(file, path, type, {count});
  file.check(H5Dwrite(array.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write an array");
}

// Writes the beginning of the file. Returns the place of the first array.
haddr_t begin_hdf5(const Hdf5Output& file, const char* name, const std::array<Lengths, 2>& extents,
                   std::vector<Hdf5Handle>& arrays) {
  for (const char* group : kGroups) {
    const Hdf5Handle made =
        file.made(H5Gcreate2(file.id(), group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
                  "create a group");
  }
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    arrays.push_back(make_array(file, std::string(kGroups[i]) + name, H5T_STD_U8LE, extents[i]));
  }
  return H5Dget_offset(arrays.front().id());
}

const char* name_of(Store store) { return store == Store::kEncoded ? "/bytes" : "/images"; }

// The place of the first array of a file, which does not depend on its length.
haddr_t place_of_pictures(const std::string& path, Store store) {
  // Not closed: nothing is written.
  const Hdf5Output file(path, Hdf5Output::Content::kKept);
  std::vector<Hdf5Handle> arrays;
  const Lengths one(store == Store::kEncoded ? 1 : 4, 1);
  return begin_hdf5(file, name_of(store), {one, one}, arrays);
}

void write_classes(const Hdf5Output& file, const std::vector<std::string>& classes) {
  std::size_t longest = 1;
  for (const std::string& name : classes) longest = std::max(longest, name.size());
  std::string bytes;
  for (const std::string& name : classes) bytes += name + std::string(longest - name.size(), '\0');
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), longest);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  write_array(file, "/classes", type.id(), classes.size(), bytes.data());
}

void write_attributes(const Hdf5Output& file, const DatasetInfo& info, std::size_t broken) {
  write_string(file.id(), "format", kFormatName);
  write_integer(file.id(), "version", kVersion2);
  write_string(file.id(), "name", info.name);
  write_integers(file.id(), "shape", {info.shape.channels, info.shape.height, info.shape.width});
  write_reals(file.id(), "mean", info.mean);
  write_reals(file.id(), "std", info.std);
  write_string(file.id(), "source_sha256", info.source_sha256);
  if (info.exif_orientation) write_integer(file.id(), kExifOrientation, 1);
  if (broken > 0) write_integer(file.id(), kBrokenFiles, static_cast<std::int64_t>(broken));
  if (info.parts > 0) {
    write_integer(file.id(), kPart, static_cast<std::int64_t>(info.part));
    write_integer(file.id(), kParts, static_cast<std::int64_t>(info.parts));
    write_string(file.id(), kSet, info.set_id);
  }
  write_integer(file.id(), "complete", 1);  // last: a file without it was not finished
}

}  // namespace

Version2Writer::Version2Writer(File& output, const std::string& path, Store store, std::mutex* hdf5)
    : output_(output), path_(path), store_(store), hdf5_(hdf5) {
  const auto lock = lock_hdf5();
  const Hdf5Silence silence;
  pictures_at_ = place_of_pictures(path, store);
  next_block_at_ = pictures_at_;
  filling_.reserve(kMostBlockBytes);
  writing_.reserve(kMostBlockBytes);
}

Version2Writer::~Version2Writer() {
  if (block_.valid()) block_.wait();
}

void Version2Writer::add(Split split, Span<const std::uint8_t> bytes, Span<const Label> labels) {
  SplitIndex& index = of(split);
  index.offsets.push_back(index.offsets.back() + bytes.size());
  index.labels.insert(index.labels.end(), labels.begin(), labels.end());
  index.label_counts.push_back(static_cast<Label>(labels.size()));
  // Both blocks of a file in two would have to be read for it.
  const bool is_first = split == Split::kTest && count(split) == 1;
  const bool would_be_cut = filling_.size() + bytes.size() > kFileBlockBytes;
  const bool is_file = store_ == Store::kEncoded;
  if (is_file && !filling_.empty() && (is_first || would_be_cut)) write_block();
  const std::uint8_t* from = bytes.data();
  while (from != bytes.end()) {
    const std::size_t some =
        std::min<std::size_t>(kMostBlockBytes - filling_.size(), bytes.end() - from);
    filling_.insert(filling_.end(), from, from + some);
    from += some;
    if (filling_.size() == kMostBlockBytes) write_block();
  }
  if (is_file && !filling_.empty() && bytes.size() >= kFileBlockBytes) write_block();
}

// Another thread hashes and writes the block meanwhile.
void Version2Writer::write_block() {
  await_block();
  std::swap(filling_, writing_);
  filling_.clear();
  Block block;
  block.offset = next_block_at_;
  block.bytes = writing_.size();
  block.kind = BlockKind::kPictures;
  next_block_at_ = block.end();
  blocks_.push_back(block);
  block_ = std::async(kThreadIfGranted, [this, block] {
    output_.write_at(block.offset, writing_.data(), writing_.size());
    // The disk begins to write now, so that commit() waits less.
    ::sync_file_range(output_.descriptor(), static_cast<off_t>(block.offset),
                      static_cast<off_t>(block.bytes), SYNC_FILE_RANGE_WRITE);
    return sha256_hex({reinterpret_cast<const char*>(writing_.data()), writing_.size()});
  });
}

void Version2Writer::await_block() {
  if (block_.valid()) blocks_.back().sha256 = block_.get();
}

void Version2Writer::finish_pictures() {
  if (!filling_.empty()) write_block();
  await_block();
}

std::uint64_t Version2Writer::begin_of(Split split) const {
  return pictures_at_ + (split == Split::kTrain ? 0 : of(Split::kTrain).offsets.back());
}

void Version2Writer::read_back(std::uint64_t at, char* to, std::size_t bytes) const {
  const std::size_t got = output_.read_at(at, to, bytes);
  if (got == bytes) return;
  throw IoError(output_.path() + ": ends at offset " + std::to_string(at + got) + ", bytes up to " +
                std::to_string(at + bytes) + " were written; another program has cut it");
}

std::string Version2Writer::read(Split split, std::uint64_t image) const {
  const std::vector<std::uint64_t>& offsets = of(split).offsets;
  std::string bytes(offsets[image + 1] - offsets[image], '\0');
  read_back(begin_of(split) + offsets[image], bytes.data(), bytes.size());
  return bytes;
}

void Version2Writer::finish(DatasetInfo& info, const BrokenFiles& broken) {
  info.train_count = count(Split::kTrain);
  info.test_count = count(Split::kTest);
  const bool is_encoded = store_ == Store::kEncoded;
  info.train_bytes = is_encoded ? of(Split::kTrain).offsets.back() : 0;
  info.test_bytes = is_encoded ? of(Split::kTest).offsets.back() : 0;
  info.broken_files = broken.size();
  write_hdf5(info, broken);
  write_seal(info);
}

std::vector<std::uint64_t> Version2Writer::extent_of(Split split, const DatasetInfo& info) const {
  if (store_ == Store::kEncoded) return {of(split).offsets.back()};
  const auto side = [](int length) { return static_cast<std::uint64_t>(length); };
  return {count(split), side(info.shape.channels), side(info.shape.height), side(info.shape.width)};
}

// A row for each picture, with 1 for each of its classes.
void Version2Writer::write_targets(const Hdf5Output& file, const std::string& path,
                                   const SplitIndex& index, std::uint64_t classes) {
  const std::uint64_t count = index.label_counts.size();
  const Hdf5Handle array = make_array(file, path, H5T_STD_U8LE, {count, classes});
  const Hdf5Handle space(H5Dget_space(array.id()), H5Sclose);
  const std::uint64_t at_once = std::max<std::uint64_t>(kMostBlockBytes / classes, 1);
  std::vector<std::uint8_t> rows;
  const Label* label = index.labels.data();
  for (std::uint64_t first = 0; first < count; first += at_once) {
    const Lengths begin{first, 0};
    const Lengths extent{std::min(at_once, count - first), classes};
    rows.assign(extent[0] * classes, 0);
    for (std::uint64_t i = 0; i < extent[0]; ++i) {
      for (Label left = index.label_counts[first + i]; left > 0; --left) {
        rows[i * classes + *label++] = 1;
      }
    }
    const Hdf5Handle here(H5Screate_simple(2, extent.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, begin.data(), nullptr, extent.data(), nullptr);
    file.check(H5Dwrite(array.id(), H5T_STD_U8LE, here.id(), space.id(), H5P_DEFAULT, rows.data()),
               "write targets");
  }
}

void Version2Writer::write_hdf5(const DatasetInfo& info, const BrokenFiles& broken) {
  const auto lock = lock_hdf5();
  const Hdf5Silence silence;
  Hdf5Output file(path_, Hdf5Output::Content::kKept);
  {
    const std::vector<std::uint64_t> train = extent_of(Split::kTrain, info);
    const std::vector<std::uint64_t> test = extent_of(Split::kTest, info);
    std::vector<Hdf5Handle> arrays;
    const haddr_t at = begin_hdf5(
        file, name_of(store_),
        {Lengths(train.begin(), train.end()), Lengths(test.begin(), test.end())}, arrays);
    const haddr_t test_at = H5Dget_offset(arrays.back().id());
    if (at != pictures_at_ || test_at != begin_of(Split::kTest)) {
      throw InternalError("HDF5 placed pictures at " + std::to_string(at) + " and " +
                          std::to_string(test_at) + ", the first are at " +
                          std::to_string(pictures_at_));
    }
  }
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    const std::string group = kGroups[i];
    const SplitIndex& index = splits_[i];
    if (store_ == Store::kEncoded) {
      write_array(file, group + "/offsets", H5T_STD_U64LE, index.offsets.size(),
                  index.offsets.data());
    }
    if (info.multi_label) {
      write_targets(file, group + "/targets", index, info.classes.size());
    } else {
      write_array(file, group + "/labels", H5T_STD_U16LE, index.labels.size(), index.labels.data());
    }
  }
  write_classes(file, info.classes);
  if (!broken.empty()) {
    const std::string list = list_of(broken);
    write_array(file, kBrokenFiles, H5T_STD_U8LE, list.size(), list.data());
  }
  write_attributes(file, info, broken.size());
  file.close();
}

void Version2Writer::add_heads(std::uint64_t begin, std::uint64_t end,
                               std::vector<Block>& blocks) const {
  std::vector<char> buffer(kMostBlockBytes);
  for (std::uint64_t at = begin; at < end; at += kMostBlockBytes) {
    Block block;
    block.offset = at;
    block.bytes = std::min<std::uint64_t>(kMostBlockBytes, end - at);
    read_back(at, buffer.data(), block.bytes);
    block.sha256 = sha256_hex({buffer.data(), static_cast<std::size_t>(block.bytes)});
    blocks.push_back(std::move(block));
  }
}

void Version2Writer::write_seal(DatasetInfo& info) {
  std::vector<Block> all;
  const std::uint64_t end = output_.size();
  add_heads(kUserBlockBytes, pictures_at_, all);
  all.insert(all.end(), blocks_.begin(), blocks_.end());
  add_heads(next_block_at_, end, all);
  const std::string table = encode_block_table(all);
  output_.write_at(end, table.data(), table.size());
  info.digest = sha256_hex(table);
  info.sealed = true;
  const std::string block =
      encode_user_block({end + table.size() - kUserBlockBytes, info.digest, 2, table.size()});
  output_.write_at(0, block.data(), block.size());
}

}  // namespace tandem::data
