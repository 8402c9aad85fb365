// An .npz file: a whole archive, or the four arrays of one that is put together around them,
// because a fuzzer finds no checksum.
#include <zlib.h>

#include <array>
#include <string>

#include "data/pixel_sources/image_source.hpp"
#include "input.hpp"
#include "memory_file.hpp"
#include "read_images.hpp"

using namespace tandem;

namespace {

constexpr std::array<const char*, 4> kNames = {"train_images.npy", "train_labels.npy",
                                               "test_images.npy", "test_labels.npy"};

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// Stored members; headers hold nothing but what a reader must know.
std::string make_archive(const std::vector<std::string_view>& files, bool zero_runs) {
  std::string archive;
  std::string directory;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = kNames[i];
    const std::string content =
        zero_runs ? fuzz::expand_zero_runs(files[i]) : std::string(files[i]);
    const auto sum =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::string sizes = little_endian(0, 6) + little_endian(sum, 4) +
                              little_endian(content.size(), 4) + little_endian(content.size(), 4) +
                              little_endian(name.size(), 2);
    const std::size_t at = archive.size();
    archive += "PK\3\4" + little_endian(0, 4) + sizes + little_endian(0, 2) + name + content;
    directory += "PK\1\2" + little_endian(0, 6) + sizes + std::string(12, '\0') +
                 little_endian(at, 4) + name;
  }
  const std::size_t at = archive.size();
  return archive + directory + "PK\5\6" + little_endian(0, 4) + little_endian(files.size(), 2) +
         little_endian(files.size(), 2) + little_endian(directory.size(), 4) +
         little_endian(at, 4) + little_endian(0, 2);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  std::string_view rest = fuzz::as_text(data, size);
  const unsigned flags = fuzz::take_flags(rest);
  const bool zero_runs = (flags & fuzz::kZeroRuns) != 0;
  if (flags & fuzz::kChecksums) {
    file.write(make_archive(fuzz::split_files(rest, kNames.size()), zero_runs));
  } else {
    file.write(zero_runs ? fuzz::expand_zero_runs(rest) : std::string(rest));
  }
  try {
    fuzz::read_or_refuse([] { fuzz::read_images(*data::open_npz(file.path(), {})); });
  } catch (const UsageError&) {  // that --test-split is missing, where the test arrays are
  }
  return 0;
}
