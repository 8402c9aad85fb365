#include "packed_writer.hpp"

#include <algorithm>
#include <vector>

#include "data/packed/packed_attributes.hpp"
#include "data/pictures/moments.hpp"
#include "hdf5_output.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {
namespace {

// Divides the 50,000, 60,000 and 10,000 images of the usual sets; for larger images a chunk stays
// below the 1 MiB that HDF5 readers cache.
constexpr hsize_t kMaxChunkImages = 250;
constexpr hsize_t kBlockBytes = hsize_t{1} << 20;
constexpr hsize_t kChunkLabels = 10'000;

class DatasetWriter {
 public:
  DatasetWriter(const Hdf5Output& file, const std::string& path, std::vector<hsize_t> extent,
                hsize_t chunk_items)
      : file_(file), extent_(std::move(extent)) {
    const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    std::vector<hsize_t> chunk = extent_;
    chunk[0] = std::min(chunk[0], chunk_items);
    H5Pset_chunk(creation.id(), rank(), chunk.data());
    H5Pset_fletcher32(creation.id());
    H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(creation.id(), false);  // equal input gives equal bytes
    const Hdf5Handle space(H5Screate_simple(rank(), extent_.data(), nullptr), H5Sclose);
    id_ = file.made(H5Dcreate2(file.id(), path.c_str(), H5T_STD_U8LE, space.id(), H5P_DEFAULT,
                               creation.id(), H5P_DEFAULT),
                    H5Dclose, "create a dataset");
  }

  void write(hsize_t first, hsize_t count, const std::uint8_t* values) {
    std::vector<hsize_t> start(extent_.size(), 0);
    std::vector<hsize_t> block = extent_;
    start[0] = first;
    block[0] = count;
    const Hdf5Handle memory(H5Screate_simple(rank(), block.data(), nullptr), H5Sclose);
    const Hdf5Handle target(H5Dget_space(id_.id()), H5Sclose);
    H5Sselect_hyperslab(target.id(), H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr);
    file_.check(H5Dwrite(id_.id(), H5T_NATIVE_UINT8, memory.id(), target.id(), H5P_DEFAULT, values),
                "write images");
  }

 private:
  int rank() const { return static_cast<int>(extent_.size()); }

  const Hdf5Output& file_;
  std::vector<hsize_t> extent_;
  Hdf5Handle id_;
};

// Returns the moments of the images written.
Moments write_split(const Hdf5Output& file, const std::string& group, Split split,
                    const ImageSource& source, const std::function<void()>& between_blocks) {
  const DatasetInfo& info = source.info();
  const hsize_t pixels = info.shape.pixels();
  const hsize_t block = std::clamp<hsize_t>(kBlockBytes / pixels, 1, kMaxChunkImages);
  const hsize_t count = info.count(split);
  const Hdf5Handle made =
      file.made(H5Gcreate2(file.id(), group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                H5Gclose, "create a group");
  DatasetWriter images(
      file, group + "/images",
      {count, static_cast<hsize_t>(info.shape.channels), static_cast<hsize_t>(info.shape.height),
       static_cast<hsize_t>(info.shape.width)},
      block);
  DatasetWriter labels(file, group + "/labels", {count}, kChunkLabels);
  Moments moments(info.shape);
  const hsize_t at_once = block * std::max<hsize_t>(kReadBytes / (block * pixels), 1);
  std::vector<std::uint8_t> pixel_values(std::min(at_once, count) * pixels);
  std::vector<Label> label_values(count);
  for (hsize_t first = 0; first < count; first += at_once) {
    between_blocks();
    const hsize_t size = std::min(at_once, count - first);
    source.read(split, first, size, pixel_values.data(), label_values.data() + first);
    moments.add(pixel_values.data(), size);
    images.write(first, size, pixel_values.data());
  }
  const std::vector<std::uint8_t> label_bytes(label_values.begin(), label_values.end());
  labels.write(0, count, label_bytes.data());
  return moments;
}

// The list is a data set, because it may be longer than an attribute can be.
void write_skipped(const Hdf5Output& file, const BrokenFiles& skipped) {
  if (skipped.empty()) return;
  const std::string list = list_of(skipped);
  DatasetWriter writer(file, kBrokenFiles, {list.size()}, kBlockBytes);
  writer.write(0, list.size(), reinterpret_cast<const std::uint8_t*>(list.data()));
  write_integer(file.id(), kBrokenFiles, static_cast<std::int64_t>(skipped.size()));
}

// The limits that readers hold files to.
void require_within_limits(const DatasetInfo& info) {
  const std::uint64_t most = std::max(info.train_count, info.test_count);
  if (most > kMaxImages || info.shape.pixels() > kMaxPixels) {
    throw DataError("found " + std::to_string(most) + " images of " + info.shape.text() +
                    ", at most 10,000,000 images of 1,000,000 values each can be packed");
  }
}

}  // namespace

DatasetInfo write_packed(const std::string& path, ImageSource& source, const std::string& name,
                         const std::function<void()>& between_blocks) {
  const Hdf5Silence silence;
  Hdf5Output file(path);
  DatasetInfo info = source.info();
  require_within_limits(info);
  if (!name.empty()) info.name = name;
  const Moments moments = write_split(file, "/train", Split::kTrain, source, between_blocks);
  write_split(file, "/test", Split::kTest, source, between_blocks);
  source.require_whole();
  info.broken_files = source.skipped_files().size();
  info.mean = moments.mean();
  info.std = moments.std();
  info.source_sha256 = source.source_sha256();
  write_string(file.id(), "format", kFormatName);
  write_integer(file.id(), "version", kFormatVersion);
  write_string(file.id(), "name", info.name);
  write_strings(file.id(), "classes", info.classes);
  write_reals(file.id(), "mean", info.mean);
  write_reals(file.id(), "std", info.std);
  write_string(file.id(), "source_sha256", info.source_sha256);
  if (info.exif_orientation) write_integer(file.id(), kExifOrientation, 1);
  write_skipped(file, source.skipped_files());
  write_integer(file.id(), "complete", 1);  // last: a file without it was not finished
  file.close();
  return info;
}

}  // namespace tandem::data
