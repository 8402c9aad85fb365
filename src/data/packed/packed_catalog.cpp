#include "packed_catalog.hpp"

#include <algorithm>
#include <cstring>

#include "data/files/byte_stream.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

// A chunk needs at least one byte and its checksum, and an address and a size in the index.
constexpr std::uint64_t kMinBytesPerChunk = 16;
constexpr std::uint64_t kMaxChunks = std::uint64_t{1} << 26;
constexpr std::uint64_t kBytesOfChunk = 20;                     // as encoded
constexpr std::uint64_t kBytesOfRest = std::uint64_t{1} << 20;  // at most, all else

template <typename Unsigned>
void put(std::string& bytes, Unsigned value) {
  append_little_endian(bytes, value);
}

void put(std::string& bytes, const std::string& text) {
  put(bytes, std::uint32_t(text.size()));
  bytes += text;
}

void put(std::string& bytes, double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  put(bytes, bits);
}

void put(std::string& bytes, Filter filter) { put(bytes, static_cast<std::uint8_t>(filter)); }

void put(std::string& bytes, const StoredChunk& chunk) {
  put(bytes, chunk.offset);
  put(bytes, chunk.bytes);
  put(bytes, chunk.skipped);
}

template <typename Value>
void put(std::string& bytes, const std::vector<Value>& values) {
  put(bytes, std::uint32_t(values.size()));
  for (const Value& value : values) put(bytes, value);
}

void put(std::string& bytes, const StoredRange& range) {
  put(bytes, range.offset);
  put(bytes, range.count);
  put(bytes, range.size);
}

void put(std::string& bytes, const StoredArray& array) {
  put(bytes, array.extent);
  put(bytes, array.chunk);
  put(bytes, array.filters);
  put(bytes, array.chunks);
}

// Takes values from the front of a text. No length in the text makes it allocate more memory than
// the text could fill.
class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  std::uint64_t take(std::size_t bytes) {
    require(bytes <= bytes_.size());
    const std::uint64_t value = little_endian(bytes_, 0, bytes);
    bytes_.remove_prefix(bytes);
    return value;
  }

  void get(std::uint64_t& value) { value = take(sizeof value); }
  void get(double& value) {
    const std::uint64_t bits = take(sizeof value);
    std::memcpy(&value, &bits, sizeof value);
  }
  void get(std::string& text) {
    const std::size_t size = take(4);
    require(size <= bytes_.size());
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  }
  void get(Filter& filter) {
    const std::uint64_t value = take(1);
    require(value >= 1 && value <= 3);
    filter = static_cast<Filter>(value);
  }
  void get(StoredRange& range) {
    get(range.offset);
    get(range.count);
    get(range.size);
  }
  void get(StoredChunk& chunk) {
    get(chunk.offset);
    get(chunk.bytes);
    chunk.skipped = static_cast<std::uint32_t>(take(4));
  }
  // Every value has at least `least` bytes.
  template <typename Value>
  void get(std::vector<Value>& values, std::size_t least) {
    const std::size_t count = take(4);
    require(count <= bytes_.size() / least);
    values.resize(count);
    for (Value& value : values) get(value);
  }
  void get(StoredArray& array) {
    get(array.extent, 8);
    get(array.chunk, 8);
    get(array.filters, 1);
    get(array.chunks, kBytesOfChunk);
  }
  bool is_done() const { return bytes_.empty(); }
  void finish() { require(is_done()); }

 private:
  void require(bool holds) const {
    if (holds) return;
    throw DataError(path_ +
                    ": the process that parsed it sent a description that cannot be read; the file "
                    "is damaged or hostile, pack it again");
  }

  std::string_view bytes_;
  const std::string& path_;
};

}  // namespace

std::uint64_t count_chunks(const StoredArray& array, std::uint64_t file_bytes) {
  const std::uint64_t most = std::min(file_bytes / kMinBytesPerChunk, kMaxChunks);
  std::uint64_t count = 1;
  if (array.extent.size() != array.chunk.size()) return 0;
  for (std::size_t i = 0; i < array.extent.size(); ++i) {
    if (array.chunk[i] == 0 || array.extent[i] == 0) return 0;
    const std::uint64_t along = (array.extent[i] - 1) / array.chunk[i] + 1;
    if (along > most / count) return 0;
    count *= along;
  }
  return count;
}

std::uint64_t max_encoded_bytes(std::uint64_t file_bytes) {
  const std::uint64_t chunks = std::min(file_bytes / kMinBytesPerChunk, kMaxChunks);
  return kBytesOfRest + 4 * chunks * kBytesOfChunk;
}

std::string encode(const PackedCatalog& catalog) {
  std::string bytes;
  put(bytes, catalog.name);
  put(bytes, catalog.classes);
  put(bytes, catalog.mean);
  put(bytes, catalog.std);
  put(bytes, catalog.source_sha256);
  put(bytes, catalog.broken_files);
  put(bytes, catalog.exif_orientation);
  for (const StoredSplit& split : catalog.splits) {
    put(bytes, split.images);
    put(bytes, split.labels);
  }
  if (catalog.version == 1) return bytes;
  put(bytes, catalog.shape);
  put(bytes, catalog.class_names);
  put(bytes, catalog.multi_label);
  for (const Version2Split& split : catalog.version2) {
    put(bytes, split.values);
    put(bytes, split.offsets);
    put(bytes, split.labels);
  }
  put(bytes, catalog.part);
  put(bytes, catalog.parts);
  put(bytes, catalog.set_id);
  return bytes;
}

PackedCatalog decode_catalog(std::string_view bytes, const std::string& path) {
  Decoder decoder(bytes, path);
  PackedCatalog catalog;
  decoder.get(catalog.name);
  decoder.get(catalog.classes, 4);
  decoder.get(catalog.mean, 8);
  decoder.get(catalog.std, 8);
  decoder.get(catalog.source_sha256);
  decoder.get(catalog.broken_files);
  decoder.get(catalog.exif_orientation);
  for (StoredSplit& split : catalog.splits) {
    decoder.get(split.images);
    decoder.get(split.labels);
  }
  if (decoder.is_done()) return catalog;
  catalog.version = 2;
  decoder.get(catalog.shape, 8);
  decoder.get(catalog.class_names);
  decoder.get(catalog.multi_label);
  for (Version2Split& split : catalog.version2) {
    decoder.get(split.values);
    decoder.get(split.offsets);
    decoder.get(split.labels);
  }
  decoder.get(catalog.part);
  decoder.get(catalog.parts);
  decoder.get(catalog.set_id);
  decoder.finish();
  return catalog;
}

const char* name_of_labels(const PackedCatalog& catalog) {
  return catalog.multi_label == 1 ? "/targets" : "/labels";
}

DatasetInfo info_of(const PackedCatalog& catalog) {
  DatasetInfo info;
  info.name = catalog.name;
  info.classes = catalog.classes;
  info.mean = catalog.mean;
  info.std = catalog.std;
  info.source_sha256 = catalog.source_sha256;
  info.broken_files = catalog.broken_files;
  info.exif_orientation = catalog.exif_orientation == 1;
  info.part = catalog.part;
  info.parts = catalog.parts;
  info.set_id = catalog.set_id;
  std::vector<std::uint64_t> shape = catalog.shape;
  if (catalog.version == 2) {
    info.multi_label = catalog.multi_label == 1;
    info.train_count = catalog.version2[0].labels.count;
    info.test_count = catalog.version2[1].labels.count;
    const bool is_encoded = catalog.version2[0].is_encoded();
    info.train_bytes = is_encoded ? catalog.version2[0].values.count : 0;
    info.test_bytes = is_encoded ? catalog.version2[1].values.count : 0;
  } else {
    const std::vector<std::uint64_t>& extent = catalog.splits[0].images.extent;
    shape.assign(extent.begin() + 1, extent.end());
    info.train_count = extent[0];
    info.test_count = catalog.splits[1].images.extent[0];
  }
  info.shape = {static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2])};
  return info;
}

}  // namespace tandem::data
