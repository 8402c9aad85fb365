#include "packed_catalog.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/files/byte_stream.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

// A chunk needs at least one byte and its checksum, and an address and a size in the index.
constexpr std::uint64_t kMinBytesPerChunk = 16;
constexpr std::uint64_t kMaxChunks = std::uint64_t{1} << 26;
constexpr std::uint64_t kBytesOfChunk = 20;                     // as encoded
constexpr std::uint64_t kBytesOfRest = std::uint64_t{1} << 20;  // at most, all else

// Appends values to a text.
class Encoder {
 public:
  void operator()(std::uint64_t value) { append_little_endian(bytes_, value); }
  void operator()(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    append_little_endian(bytes_, bits);
  }
  void operator()(const std::string& text) {
    append_little_endian(bytes_, std::uint32_t(text.size()));
    bytes_ += text;
  }
  void operator()(Filter filter) { bytes_ += static_cast<char>(filter); }
  void operator()(const StoredChunk& chunk) {
    append_little_endian(bytes_, chunk.offset);
    append_little_endian(bytes_, chunk.bytes);
    append_little_endian(bytes_, chunk.skipped);
  }
  template <typename Value>
  void operator()(const std::vector<Value>& values, std::size_t /*least*/) {
    append_little_endian(bytes_, std::uint32_t(values.size()));
    for (const Value& value : values) (*this)(value);
  }
  std::string text() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Takes values from the front of a text. No length in the text makes it allocate more memory than
// the text could fill.
class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  void operator()(std::uint64_t& value) { value = take(sizeof value); }
  void operator()(double& value) {
    const std::uint64_t bits = take(sizeof value);
    std::memcpy(&value, &bits, sizeof value);
  }
  void operator()(std::string& text) {
    const std::size_t size = take(4);
    require(size <= bytes_.size());
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  }
  void operator()(Filter& filter) {
    const std::uint64_t value = take(1);
    require(value >= 1 && value <= 3);
    filter = static_cast<Filter>(value);
  }
  void operator()(StoredChunk& chunk) {
    chunk.offset = take(8);
    chunk.bytes = take(8);
    chunk.skipped = static_cast<std::uint32_t>(take(4));
  }
  // Every value has at least `least` bytes.
  template <typename Value>
  void operator()(std::vector<Value>& values, std::size_t least) {
    const std::size_t count = take(4);
    require(count <= bytes_.size() / least);
    values.resize(count);
    for (Value& value : values) (*this)(value);
  }
  bool is_done() const { return bytes_.empty(); }
  void finish() { require(is_done()); }

 private:
  std::uint64_t take(std::size_t bytes) {
    require(bytes <= bytes_.size());
    const std::uint64_t value = little_endian(bytes_, 0, bytes);
    bytes_.remove_prefix(bytes);
    return value;
  }

  void require(bool holds) const {
    if (holds) return;
    throw DataError(path_ +
                    ": the process that parsed it sent a description that cannot be read; the file "
                    "is damaged or hostile, pack it again");
  }

  std::string_view bytes_;
  const std::string& path_;
};

// The fields in the order of their bytes.
template <typename Coder, typename Array>
void code_array(Coder& code, Array& array) {
  code(array.extent, 8);
  code(array.chunk, 8);
  code(array.filters, 1);
  code(array.chunks, kBytesOfChunk);
}

template <typename Coder, typename Range>
void code_range(Coder& code, Range& range) {
  code(range.offset);
  code(range.count);
  code(range.size);
}

template <typename Coder, typename Catalog>
void code_version1(Coder& code, Catalog& catalog) {
  code(catalog.name);
  code(catalog.classes, 4);
  code(catalog.mean, 8);
  code(catalog.std, 8);
  code(catalog.source_sha256);
  code(catalog.broken_files);
  code(catalog.exif_orientation);
  for (auto& split : catalog.splits) {
    code_array(code, split.images);
    code_array(code, split.labels);
  }
}

template <typename Coder, typename Catalog>
void code_rest(Coder& code, Catalog& catalog) {
  code(catalog.shape, 8);
  code_range(code, catalog.class_names);
  code(catalog.multi_label);
  for (auto& split : catalog.version2) {
    code_range(code, split.values);
    code_range(code, split.offsets);
    code_range(code, split.labels);
  }
  code(catalog.part);
  code(catalog.parts);
  code(catalog.set_id);
}

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
  Encoder encoder;
  code_version1(encoder, catalog);
  if (catalog.version == 2) code_rest(encoder, catalog);
  return std::move(encoder).text();
}

PackedCatalog decode_catalog(std::string_view bytes, const std::string& path) {
  Decoder decoder(bytes, path);
  PackedCatalog catalog;
  code_version1(decoder, catalog);
  if (decoder.is_done()) return catalog;
  catalog.version = 2;
  code_rest(decoder, catalog);
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
