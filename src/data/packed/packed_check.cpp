// The checks of a packed file's structure before anything is read by it.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "data/files/byte_stream.hpp"
#include "data/files/name_rules.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {
namespace {

// Of one decoded chunk, because reading it allocates as much.
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{1} << 28;

void check_reals(const std::vector<double>& values, double lowest, const PackedObject& attribute) {
  for (const double value : values) {
    if (!(value >= lowest && value <= 1)) {  // also refuses NaN
      throw attribute.fault("holds " + format_real(value) + ", a number in [" +
                            format_real(lowest) + ", 1] is expected (pixels scaled to [0, 1])");
    }
  }
}

void check_attributes(const PackedCatalog& catalog, const std::string& path) {
  const auto attribute = [&](const char* name) {
    return PackedObject{path, std::string("attribute ") + name};
  };
  if (!is_dataset_name(catalog.name)) {
    throw attribute("name").fault("is '" + catalog.name + "', " + kDatasetNameRule);
  }
  if (catalog.version == 1) check_class_names(catalog.classes, path + ": attribute classes");
  check_reals(catalog.mean, 0, attribute("mean"));
  check_reals(catalog.std, kSmallestDeviation, attribute("std"));
  const std::string& digest = catalog.source_sha256;
  if (!is_digest(digest)) {
    throw attribute("source_sha256")
        .fault("is '" + digest + "', 64 lower-case hex digits are expected");
  }
}

void check_extent(const StoredArray& array, std::size_t rank, const PackedObject& object) {
  if (array.extent.size() != rank || array.chunk.size() != rank) {
    throw object.fault("has " + std::to_string(array.extent.size()) + " dimensions, " +
                       std::to_string(rank) + " are expected");
  }
  if (array.extent[0] == 0 || array.extent[0] > kMaxImages) {
    throw object.fault("holds " + std::to_string(array.extent[0]) +
                       " images, 1 to 10,000,000 are expected");
  }
  std::uint64_t pixels = 1;
  for (std::size_t i = 1; i < rank; ++i) {
    if (array.extent[i] == 0 || array.extent[i] > kMaxPixels ||
        (pixels *= array.extent[i]) > kMaxPixels) {
      throw object.fault("holds images without pixels or of more than 1,000,000");
    }
  }
}

// Bytes of a decoded chunk; 0 if there are too many.
std::uint64_t chunk_bytes(const StoredArray& array) {
  std::uint64_t bytes = 1;
  for (const std::uint64_t along : array.chunk) {
    if (along == 0 || along > kMaxChunkBytes || (bytes *= along) > kMaxChunkBytes) return 0;
  }
  return bytes;
}

void check_filters(const StoredArray& array, const PackedObject& object) {
  const auto uses = [&](Filter filter) {
    return std::count(array.filters.begin(), array.filters.end(), filter);
  };
  if (uses(Filter::kFletcher32) == 0) {
    throw object.fault("has no checksums; write it with fletcher32=True");
  }
  if (uses(Filter::kFletcher32) > 1 || uses(Filter::kDeflate) > 1 || uses(Filter::kShuffle) > 1) {
    throw object.fault("uses a filter twice, once is expected");
  }
}

// Whether the filters that were applied can turn `bytes` bytes into a chunk of this stored size.
bool can_hold(const StoredArray& array, const StoredChunk& chunk, std::uint64_t bytes) {
  bool deflated = false;
  for (std::size_t i = 0; i < array.filters.size(); ++i) {
    const bool applied = (chunk.skipped >> i & 1) == 0;
    if (array.filters[i] == Filter::kFletcher32 && !applied) return false;
    deflated = deflated || (array.filters[i] == Filter::kDeflate && applied);
  }
  if (!deflated) return chunk.bytes == bytes + kChecksumBytes;
  const std::uint64_t most = bytes + bytes / 100 + 1024;  // deflate of incompressible data
  return chunk.bytes > kChecksumBytes && chunk.bytes <= most && bytes <= chunk.bytes * kMaxInflated;
}

void check_chunks(const StoredArray& array, std::uint64_t file_bytes, const PackedObject& object) {
  const std::uint64_t bytes = chunk_bytes(array);
  const std::uint64_t expected = count_chunks(array, file_bytes);
  if (expected == 0 || array.chunks.size() != expected) {
    throw object.fault("has " + std::to_string(array.chunks.size()) +
                       " chunks, another number is expected of its extent");
  }
  for (std::size_t i = 0; i < array.chunks.size(); ++i) {
    const StoredChunk& chunk = array.chunks[i];
    const auto refuse = [&](const std::string& fault) {
      return object.fault("has a chunk (number " + std::to_string(i) + ") of " +
                          std::to_string(chunk.bytes) + " bytes at offset " +
                          std::to_string(chunk.offset) + ", " + fault +
                          "; the file is damaged or hostile, pack it again");
    };
    if (chunk.offset > file_bytes || chunk.bytes > file_bytes - chunk.offset) {
      throw refuse("the file ends at " + std::to_string(file_bytes));
    }
    if (!can_hold(array, chunk, bytes)) {
      throw refuse("which cannot hold " + std::to_string(bytes) + " bytes and their checksum");
    }
  }
}

// Many chunks that share a few bytes could claim any amount of data.
void check_overlaps(const PackedCatalog& catalog, const std::string& path) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // begin, end
  for (const StoredSplit& split : catalog.splits) {
    for (const StoredArray* array : {&split.images, &split.labels}) {
      for (const StoredChunk& chunk : array->chunks) {
        places.emplace_back(chunk.offset, chunk.offset + chunk.bytes);
      }
    }
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].first >= places[i - 1].second) continue;
    throw DataError(path + ": two chunks share the bytes at offset " +
                    std::to_string(places[i].first) +
                    "; the file is damaged or hostile, pack it again");
  }
}

void check_split(const StoredSplit& split, const std::string& group, std::uint64_t file_bytes,
                 const std::string& path) {
  const PackedObject images{path, group + "/images"};
  const PackedObject labels{path, group + "/labels"};
  require_layout(split.images, 4, images);
  require_layout(split.labels, 1, labels);
  if (split.labels.extent[0] != split.images.extent[0]) {
    throw labels.fault("holds " + std::to_string(split.labels.extent[0]) + " labels, " +
                       std::to_string(split.images.extent[0]) +
                       " are expected as there are images");
  }
  check_chunks(split.images, file_bytes, images);
  check_chunks(split.labels, file_bytes, labels);
}

}  // namespace

void require_layout(const StoredArray& array, std::size_t rank, const PackedObject& object) {
  check_extent(array, rank, object);
  if (chunk_bytes(array) == 0) throw object.fault("has chunks above 256 MiB");
  check_filters(array, object);
}

void require_sound(const PackedCatalog& catalog, std::uint64_t file_bytes,
                   const std::string& path) {
  check_attributes(catalog, path);
  if (catalog.version != 1) {
    require_sound_version2(catalog, file_bytes, path);
    return;
  }
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    check_split(catalog.splits[i], kGroups[i], file_bytes, path);
  }
  const std::vector<std::uint64_t>& train = catalog.splits[0].images.extent;
  const std::vector<std::uint64_t>& test = catalog.splits[1].images.extent;
  if (!std::equal(train.begin() + 1, train.end(), test.begin() + 1)) {
    throw DataError(path + ": /train/images and /test/images differ in shape, one is expected");
  }
  if (catalog.mean.size() != train[1] || catalog.std.size() != train[1]) {
    throw DataError(path + ": attributes mean and std hold " + std::to_string(catalog.mean.size()) +
                    " and " + std::to_string(catalog.std.size()) + " values, " +
                    std::to_string(train[1]) + " are expected as the images have channels");
  }
  check_overlaps(catalog, path);
}

}  // namespace tandem::data
