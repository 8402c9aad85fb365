#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "hdf5_descriptor.hpp"
#include "hdf5_handle.hpp"
#include "packed_attributes.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {
namespace {

// Soft and external links could lead into other files.
void require_hard_link(hid_t file, const PackedObject& place, H5O_type_t expected) {
  H5L_info_t link;
  if (H5Lexists(file, place.name.c_str(), H5P_DEFAULT) <= 0) throw place.fault("is missing");
  if (H5Lget_info(file, place.name.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) {
    throw place.fault("is a soft or external link, an object of this file is expected");
  }
  H5O_info_t object;
  if (H5Oget_info_by_name2(file, place.name.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0 ||
      object.type != expected) {
    throw place.fault(expected == H5O_TYPE_GROUP ? "is not a group" : "is not a dataset");
  }
}

Hdf5Handle open_dataset(hid_t file, const PackedObject& place) {
  require_hard_link(file, place, H5O_TYPE_DATASET);
  Hdf5Handle dataset(H5Dopen2(file, place.name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) throw place.fault("cannot be opened: " + hdf5_reason());
  return dataset;
}

std::vector<Filter> filters_of(hid_t properties, const PackedObject& place) {
  std::vector<Filter> filters;
  const int count = H5Pget_nfilters(properties);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned settings = 0;
    std::size_t parameters = 1;
    unsigned parameter = 0;
    const H5Z_filter_t filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags,
                                               &parameters, &parameter, 0, nullptr, &settings);
    if (filter == H5Z_FILTER_FLETCHER32) {
      filters.push_back(Filter::kFletcher32);
    } else if (filter == H5Z_FILTER_DEFLATE) {
      filters.push_back(Filter::kDeflate);
    } else if (filter == H5Z_FILTER_SHUFFLE && parameters >= 1 && parameter == 1) {
      filters.push_back(Filter::kShuffle);
    } else {
      throw place.fault("uses filter " + std::to_string(filter) +
                        ", only fletcher32, gzip and shuffle of single bytes are accepted");
    }
  }
  return filters;
}

std::vector<StoredChunk> chunks_of(hid_t dataset, const StoredArray& array,
                                   std::uint64_t file_bytes, const PackedObject& place) {
  const std::uint64_t count = count_chunks(array, file_bytes);
  if (count == 0) {
    throw place.fault("states an extent that a file of " + std::to_string(file_bytes) +
                      " bytes cannot hold: it was not written to its end");
  }
  std::vector<StoredChunk> chunks(count);
  std::vector<hsize_t> origin(array.extent.size(), 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!find_chunk(dataset, origin, chunks[i])) {
      throw place.fault("lacks chunk " + std::to_string(i) + " of " + std::to_string(count) +
                        ": it was not written to its end");
    }
    for (std::size_t axis = origin.size(); axis-- > 0;) {
      origin[axis] += array.chunk[axis];
      if (origin[axis] < array.extent[axis]) break;
      origin[axis] = 0;
    }
  }
  return chunks;
}

StoredArray describe_array(hid_t file, const PackedObject& place, std::size_t dimensions,
                           std::uint64_t file_bytes) {
  const Hdf5Handle dataset = open_dataset(file, place);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (H5Tequal(type.id(), H5T_STD_U8LE) <= 0 && H5Tequal(type.id(), H5T_STD_U8BE) <= 0) {
    throw place.fault("has another type, uint8 is expected");
  }
  const Hdf5Handle properties(H5Dget_create_plist(dataset.id()), H5Pclose);
  if (H5Pget_layout(properties.id()) != H5D_CHUNKED ||
      H5Pget_external_count(properties.id()) != 0) {
    throw place.fault("is not stored in chunks in this file");
  }
  unsigned options = 0;
  if (H5Pget_chunk_opts(properties.id(), &options) < 0 || options != 0) {
    throw place.fault("stores chunks at its edge without checksums");
  }
  StoredArray array;
  array.filters = filters_of(properties.id(), place);

  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.id());
  if (rank != static_cast<int>(dimensions)) {
    throw place.fault("has " + std::to_string(rank) + " dimensions, " + std::to_string(dimensions) +
                      " are expected");
  }
  std::vector<hsize_t> values(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.id(), values.data(), nullptr);
  array.extent.assign(values.begin(), values.end());
  if (H5Pget_chunk(properties.id(), rank, values.data()) != rank) {
    throw place.fault("has chunks of another number of dimensions");
  }
  array.chunk.assign(values.begin(), values.end());
  require_layout(array, dimensions, place);
  array.chunks = chunks_of(dataset.id(), array, file_bytes, place);
  return array;
}

// `group`: "/train" or "/test". `file_bytes` limits the number of chunks.
StoredSplit describe_split(hid_t file, const std::string& path, const std::string& group,
                           std::uint64_t file_bytes) {
  require_hard_link(file, {path, group}, H5O_TYPE_GROUP);
  return {describe_array(file, {path, group + "/images"}, 4, file_bytes),
          describe_array(file, {path, group + "/labels"}, 1, file_bytes)};
}

// An array of this type and so many dimensions that lies in the file in one piece, without filters.
StoredRange describe_range(hid_t file, const PackedObject& place, hid_t expected,
                           const char* type_name, int dimensions = 1) {
  const Hdf5Handle dataset = open_dataset(file, place);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const bool is_text = expected == H5T_C_S1;
  const bool fits = is_text ? H5Tget_class(type.id()) == H5T_STRING &&
                                  H5Tis_variable_str(type.id()) == 0 &&
                                  H5Tget_strpad(type.id()) != H5T_STR_SPACEPAD
                            : H5Tequal(type.id(), expected) > 0;
  if (!fits) throw place.fault(std::string("has another type, ") + type_name + " is expected");
  const Hdf5Handle properties(H5Dget_create_plist(dataset.id()), H5Pclose);
  if (H5Pget_layout(properties.id()) != H5D_CONTIGUOUS ||
      H5Pget_external_count(properties.id()) != 0 || H5Pget_nfilters(properties.id()) != 0) {
    throw place.fault("is not stored in one piece in this file");
  }
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  if (H5Sget_simple_extent_ndims(space.id()) != dimensions || count < 0) {
    throw place.fault("has another number of dimensions, " + std::to_string(dimensions) +
                      " expected");
  }
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset == HADDR_UNDEF) throw place.fault("has no values: it was not written to its end");
  return {offset, static_cast<std::uint64_t>(count), H5Tget_size(type.id())};
}

bool has_object(hid_t file, const std::string& object) {
  return H5Lexists(file, object.c_str(), H5P_DEFAULT) > 0;
}

// A byte for each class of each image.
StoredRange describe_targets(hid_t file, const PackedObject& place, std::uint64_t classes) {
  const StoredRange range = describe_range(file, place, H5T_STD_U8LE, "uint8", 2);
  const Hdf5Handle dataset(H5Dopen2(file, place.name.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  std::array<hsize_t, 2> extent{};
  H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr);
  if (extent[1] != classes) {
    throw place.fault("has " + std::to_string(extent[1]) + " columns, " + std::to_string(classes) +
                      " are expected, one for each class");
  }
  return {range.offset, extent[0], classes};
}

Version2Split describe_version2(hid_t file, const std::string& path, const std::string& group,
                                const PackedCatalog& catalog) {
  require_hard_link(file, {path, group}, H5O_TYPE_GROUP);
  if (has_object(file, group + "/labels") && has_object(file, group + "/targets")) {
    throw PackedObject{path, group}.fault("holds labels and targets, only one of them is expected");
  }
  Version2Split split;
  const PackedObject labels{path, group + name_of_labels(catalog)};
  split.labels = catalog.multi_label == 1
                     ? describe_targets(file, labels, catalog.class_names.count)
                     : describe_range(file, labels, H5T_STD_U16LE, "little-endian uint16");
  if (has_object(file, group + "/images")) {
    split.values = describe_range(file, {path, group + "/images"}, H5T_STD_U8LE, "uint8", 4);
    return split;
  }
  split.values = describe_range(file, {path, group + "/bytes"}, H5T_STD_U8LE, "uint8");
  split.offsets =
      describe_range(file, {path, group + "/offsets"}, H5T_STD_U64LE, "little-endian uint64");
  if (!split.is_encoded()) throw PackedObject{path, group + "/offsets"}.fault("holds no offset");
  return split;
}

// Finding a chunk takes microseconds, so these limits suffice for a valid file of any size.
ChildLimits limits_for(std::uint64_t file_bytes) {
  ChildLimits limits;
  limits.processor_seconds = 1 + file_bytes / (std::uint64_t{4} << 20);
  limits.time = std::chrono::seconds(60 + file_bytes / 100'000'000);
  limits.reply_bytes = max_encoded_bytes(file_bytes);
  return limits;
}

// A hostile file may crash the process.
PackedCatalog describe_packed(const File& file) {
  const Hdf5Silence silence;
  std::exception_ptr fault;
  try {
    const Hdf5Handle hdf5 = open_hdf5(file, fault);
    const std::uint64_t file_bytes = file.size();
    PackedCatalog catalog;
    read_attributes(hdf5.id(), file.path(), catalog);
    if (catalog.version == kVersion2) {
      catalog.class_names = describe_range(hdf5.id(), {file.path(), "/classes"}, H5T_C_S1, "text");
      require_hard_link(hdf5.id(), {file.path(), kGroups[0]}, H5O_TYPE_GROUP);
      catalog.multi_label = has_object(hdf5.id(), std::string(kGroups[0]) + "/targets") ? 1 : 0;
      for (std::size_t i = 0; i < kGroups.size(); ++i) {
        catalog.version2[i] = describe_version2(hdf5.id(), file.path(), kGroups[i], catalog);
      }
      return catalog;
    }
    for (std::size_t i = 0; i < kGroups.size(); ++i) {
      catalog.splits[i] = describe_split(hdf5.id(), file.path(), kGroups[i], file_bytes);
    }
    return catalog;
  } catch (const DataError&) {
    if (fault) std::rethrow_exception(fault);
    throw;
  }
}

}  // namespace

PackedCatalog describe_packed_in_child(const File& file, const Touch& touch) {
  const std::uint64_t file_bytes = file.size();
  const auto work = [&] { return encode(describe_packed(file)); };
  const std::string reply = run_in_child(file, limits_for(file_bytes), work, touch);
  PackedCatalog catalog = decode_catalog(reply, file.path());
  require_sound(catalog, file_bytes, file.path());
  return catalog;
}

std::string hdf5_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace tandem::data
