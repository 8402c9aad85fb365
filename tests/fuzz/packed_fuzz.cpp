// A packed file with a correct seal (kSeal): HDF5 parses it in a child process, and all of it is
// read here. With kLength, the input holds the child's reply first and then the file, so that the
// reply is fuzzed, too.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "data/packed/chunk_reader.hpp"
#include "data/packed/packed_catalog.hpp"
#include "data/packed/user_block.hpp"
#include "input.hpp"
#include "memory_file.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/packed_file.hpp"
#include "target.hpp"

using namespace tandem;

namespace {

void read_through_child(const std::string& path) {
  const data::PackedFile file(path);
  const data::DatasetInfo& info = file.info();
  for (const data::Split split : {data::Split::kTrain, data::Split::kTest}) {
    std::vector<std::uint8_t> images(info.count(split) * info.shape.pixels());
    std::vector<data::Label> labels(info.count(split));
    file.read(split, 0, images, labels);
    for (const data::Label label : labels) {
      fuzz::require(label < info.classes.size(), "every label is a class");
    }
    if (!info.multi_label) continue;
    std::vector<std::uint8_t> targets(info.count(split) * info.classes.size());
    file.read_targets(split, 0, targets);
    for (const std::uint8_t target : targets) fuzz::require(target <= 1, "a target is 0 or 1");
  }
}

void read_array(const File& file, const data::StoredArray& array) {
  std::uint64_t item = 1;
  for (std::size_t i = 1; i < array.extent.size(); ++i) item *= array.extent[i];
  data::ChunkReader reader(array, "/array");
  // In two parts; the second begins within a chunk.
  const std::uint64_t half = (array.extent[0] + 1) / 2;
  std::vector<std::uint8_t> values(half * item);
  reader.read(file, 0, half, values.data(), {});
  if (array.extent[0] > half) reader.read(file, half, array.extent[0] - half, values.data(), {});
}

void read_as_described(const std::string& path, std::string_view description) {
  const File file = File::open_for_reading(path);
  const data::PackedCatalog catalog = data::decode_catalog(description, path);
  fuzz::require(data::encode(catalog) == description, "nothing but what is encoded is decoded");
  data::require_sound(catalog, file.size(), path);
  if (catalog.version != 1) return;  // of version 2 nothing is read without a table of digests
  for (const data::StoredSplit& split : catalog.splits) {
    read_array(file, split.images);
    read_array(file, split.labels);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile memory;
  std::string_view input = fuzz::as_text(data, size);
  const unsigned flags = fuzz::take_flags(input);
  std::string_view description;
  if (flags & fuzz::kLength) {
    const auto parts = fuzz::split_files(input, 2);
    description = parts[0];
    input = parts[1];
  }
  std::string content =
      flags & fuzz::kZeroRuns ? fuzz::expand_zero_runs(input) : std::string(input);
  if (flags & fuzz::kSeal)
    content = data::encode_user_block({content.size(), sha256_hex(content)}) + content;
  memory.write(content);
  fuzz::read_or_refuse([&] {
    if (flags & fuzz::kLength) {
      read_as_described(memory.path(), description);
    } else {
      read_through_child(memory.path());
    }
  });
  return 0;
}
