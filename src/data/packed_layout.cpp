#include "packed_layout.hpp"

#include <array>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/data/limits.hpp"

namespace tandem::data {
namespace {

// Decompressed bytes of one chunk: what the library allocates to read it.
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{1} << 28;

struct Place {
  const std::string& path;
  std::string object;

  DataError fault(const std::string& text) const {
    return DataError(path + ": " + object + " " + text);
  }
};

// Soft and external links could lead into other files.
void require_hard_link(hid_t file, const Place& place, H5O_type_t expected) {
  H5L_info_t link;
  if (H5Lexists(file, place.object.c_str(), H5P_DEFAULT) <= 0) throw place.fault("is missing");
  if (H5Lget_info(file, place.object.c_str(), &link, H5P_DEFAULT) < 0 ||
      link.type != H5L_TYPE_HARD) {
    throw place.fault("is a soft or external link, an object of this file is expected");
  }
  H5O_info_t object;
  if (H5Oget_info_by_name2(file, place.object.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0 ||
      object.type != expected) {
    throw place.fault(expected == H5O_TYPE_GROUP ? "is no group" : "is no dataset");
  }
}

void check_filters(hid_t properties, const Place& place) {
  bool checksummed = false;
  const int count = H5Pget_nfilters(properties);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned settings = 0;
    std::size_t parameters = 0;
    const H5Z_filter_t filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags,
                                               &parameters, nullptr, 0, nullptr, &settings);
    if (filter != H5Z_FILTER_FLETCHER32 && filter != H5Z_FILTER_SHUFFLE &&
        filter != H5Z_FILTER_DEFLATE) {
      throw place.fault("uses filter " + std::to_string(filter) +
                        ", only fletcher32, shuffle and gzip are accepted");
    }
    checksummed = checksummed || filter == H5Z_FILTER_FLETCHER32;
  }
  if (!checksummed) {
    throw place.fault("has no checksums; write it with fletcher32=True");
  }
}

// Every chunk must be there: a small file cannot claim a large data set.
void check_chunks(hid_t dataset, hid_t properties, const std::vector<hsize_t>& extent,
                  const Place& place) {
  std::vector<hsize_t> chunk(extent.size());
  H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
  std::uint64_t bytes = 1;
  std::uint64_t expected = 1;
  for (std::size_t i = 0; i < extent.size(); ++i) {
    if (chunk[i] == 0 || (bytes *= chunk[i]) > kMaxChunkBytes) {
      throw place.fault("has chunks above 256 MiB");
    }
    expected *= (extent[i] + chunk[i] - 1) / chunk[i];
  }
  hsize_t found = 0;
  const Hdf5Handle all(H5Dget_space(dataset), H5Sclose);
  if (H5Dget_num_chunks(dataset, all.id(), &found) < 0 || found != expected) {
    throw place.fault("has " + std::to_string(found) + " chunks, " + std::to_string(expected) +
                      " are expected: it was not written to its end");
  }
}

Hdf5Handle open_dataset(hid_t file, const Place& place, std::size_t rank,
                        std::vector<hsize_t>& extent) {
  require_hard_link(file, place, H5O_TYPE_DATASET);
  Hdf5Handle dataset(H5Dopen2(file, place.object.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) throw place.fault("cannot be opened: " + hdf5_reason());

  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (H5Tequal(type.id(), H5T_STD_U8LE) <= 0 && H5Tequal(type.id(), H5T_STD_U8BE) <= 0) {
    throw place.fault("has another type, uint8 is expected");
  }
  const Hdf5Handle properties(H5Dget_create_plist(dataset.id()), H5Pclose);
  if (H5Pget_layout(properties.id()) != H5D_CHUNKED ||
      H5Pget_external_count(properties.id()) != 0) {
    throw place.fault("is not stored in chunks in this file");
  }
  check_filters(properties.id(), place);

  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  if (H5Sget_simple_extent_ndims(space.id()) != static_cast<int>(rank)) {
    throw place.fault("has " + std::to_string(H5Sget_simple_extent_ndims(space.id())) +
                      " dimensions, " + std::to_string(rank) + " are expected");
  }
  extent.resize(rank);
  H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr);
  if (extent[0] == 0 || extent[0] > kMaxImages) {
    throw place.fault("holds " + std::to_string(extent[0]) +
                      " images, 1 to 10,000,000 are expected");
  }
  std::uint64_t pixels = 1;
  for (std::size_t i = 1; i < rank; ++i) {
    if (extent[i] == 0 || extent[i] > kMaxPixels || (pixels *= extent[i]) > kMaxPixels) {
      throw place.fault("holds images without pixels or of more than 1,000,000");
    }
  }
  check_chunks(dataset.id(), properties.id(), extent, place);
  return dataset;
}

}  // namespace

SplitDatasets open_split(hid_t file, const std::string& path, const std::string& group) {
  require_hard_link(file, Place{path, group}, H5O_TYPE_GROUP);
  const Place images{path, group + "/images"};
  const Place labels{path, group + "/labels"};
  SplitDatasets split;
  std::vector<hsize_t> extent;
  std::vector<hsize_t> label_extent;
  split.images = open_dataset(file, images, 4, extent);
  split.labels = open_dataset(file, labels, 1, label_extent);
  if (label_extent[0] != extent[0]) {
    throw labels.fault("holds " + std::to_string(label_extent[0]) + " labels, " +
                       std::to_string(extent[0]) + " are expected as there are images");
  }
  split.shape = {static_cast<int>(extent[1]), static_cast<int>(extent[2]),
                 static_cast<int>(extent[3])};
  split.count = extent[0];
  return split;
}

}  // namespace tandem::data
