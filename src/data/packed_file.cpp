#include "tandem/data/packed_file.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "packed_attributes.hpp"
#include "packed_layout.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/user_block.hpp"

namespace tandem::data {
namespace {

Hdf5Handle open_hdf5(const std::string& path) {
  H5PLset_loading_state(0);  // a filter named in the file must not load a library
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
  // The file is complete and never written again; locks fail on some network file systems.
  H5Pset_file_locking(access.id(), false, true);
#endif
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  if (!file) throw DataError(path + ": HDF5 cannot open it: " + hdf5_reason());
  return file;
}

void check_channels(const DatasetInfo& info, const std::string& path) {
  const auto channels = static_cast<std::size_t>(info.shape.channels);
  if (info.mean.size() != channels || info.std.size() != channels) {
    throw DataError(path + ": attributes mean and std hold " + std::to_string(info.mean.size()) +
                    " and " + std::to_string(info.std.size()) + " values, " +
                    std::to_string(channels) + " are expected as the images have channels");
  }
}

void read_range(const Hdf5Handle& dataset, std::size_t rank, std::uint64_t first,
                std::uint64_t count, std::uint8_t* values, const std::string& what) {
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  std::array<hsize_t, 4> start{};
  std::array<hsize_t, 4> extent{};
  H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr);
  start[0] = first;
  extent[0] = count;
  const Hdf5Handle memory(H5Screate_simple(static_cast<int>(rank), extent.data(), nullptr),
                          H5Sclose);
  if (H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, extent.data(),
                          nullptr) < 0 ||
      H5Dread(dataset.id(), H5T_NATIVE_UINT8, memory.id(), space.id(), H5P_DEFAULT, values) < 0) {
    throw DataError(what + " " + std::to_string(first) + " to " +
                    std::to_string(first + count - 1) + " cannot be read: " + hdf5_reason());
  }
}

}  // namespace

struct PackedFile::Parts {
  std::string path;
  DatasetInfo info;
  Hdf5Handle file;
  std::array<SplitDatasets, 2> splits;

  const SplitDatasets& split(Split which) const { return splits[which == Split::kTrain ? 0 : 1]; }

  void read_labels(Split which, std::uint64_t first, std::uint64_t count,
                   std::uint8_t* labels) const {
    const std::string object = which == Split::kTrain ? "/train/labels" : "/test/labels";
    read_range(split(which).labels, 1, first, count, labels, path + ": " + object);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (labels[i] < info.classes.size()) continue;
      throw DataError(path + ": " + object + "[" + std::to_string(first + i) + "] is " +
                      std::to_string(labels[i]) + ", 0 to " +
                      std::to_string(info.classes.size() - 1) + " are expected");
    }
  }
};

PackedFile::PackedFile(const std::string& path, const Touch& touch)
    : parts_(std::make_unique<Parts>()) {
  const FileProof proof = prove_file(File::open_for_reading(path), touch);
  const Hdf5Silence silence;
  Parts& parts = *parts_;
  parts.path = path;
  parts.file = open_hdf5(path);
  parts.info = read_attributes(parts.file.id(), path);
  parts.splits[0] = open_split(parts.file.id(), path, "/train");
  parts.splits[1] = open_split(parts.file.id(), path, "/test");
  if (parts.splits[0].shape != parts.splits[1].shape) {
    throw DataError(path + ": /train/images and /test/images differ in shape, one is expected");
  }
  parts.info.shape = parts.splits[0].shape;
  parts.info.train_count = parts.splits[0].count;
  parts.info.test_count = parts.splits[1].count;
  parts.info.digest = proof.sha256;
  parts.info.sealed = proof.sealed;
  check_channels(parts.info, path);
  for (const Split split : {Split::kTrain, Split::kTest}) {
    std::vector<std::uint8_t> labels(parts.info.count(split));
    parts.read_labels(split, 0, labels.size(), labels.data());
  }
}

PackedFile::~PackedFile() = default;
PackedFile::PackedFile(PackedFile&&) noexcept = default;
PackedFile& PackedFile::operator=(PackedFile&&) noexcept = default;

const DatasetInfo& PackedFile::info() const { return parts_->info; }

void PackedFile::read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
                      std::uint8_t* labels) const {
  const std::uint64_t available = info().count(split);
  if (first > available || count > available - first) {
    throw InternalError("images " + std::to_string(first) + " to " + std::to_string(first + count) +
                        " of " + std::to_string(available) + " were asked of a packed file");
  }
  if (count == 0) return;
  const Hdf5Silence silence;
  const char* object = split == Split::kTrain ? ": /train/images" : ": /test/images";
  read_range(parts_->split(split).images, 4, first, count, images, parts_->path + object);
  parts_->read_labels(split, first, count, labels);
}

std::string hdf5_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace tandem::data
