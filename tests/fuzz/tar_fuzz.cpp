// A tar archive, plain or gzip: its members, CIFAR-10 out of it with one image a file, and samples
// of WebDataset.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "data/files/archive_reader.hpp"
#include "data/picture_sources/tar_samples.hpp"
#include "data/pixel_sources/image_source.hpp"
#include "input.hpp"
#include "memory_file.hpp"
#include "read_images.hpp"

using namespace tandem;

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kSizeDigits = 12;
constexpr std::size_t kSumAt = 148;
constexpr std::size_t kSumBytes = 8;

// From header to header, as far as they can be followed.
void make_checksums_right(std::string& archive) {
  std::size_t at = 0;
  while (at + kBlock <= archive.size()) {
    const auto header = archive.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::all_of(header, header + kBlock, [](char byte) { return byte == 0; })) return;
    archive.replace(at + kSumAt, kSumBytes, kSumBytes, ' ');
    const unsigned sum = std::accumulate(
        header, header + kBlock, 0U,
        [](unsigned before, char byte) { return before + static_cast<unsigned char>(byte); });
    std::snprintf(&archive[at + kSumAt], kSumBytes, "%06o", sum);
    const std::string digits = archive.substr(at + kSizeAt, kSizeDigits);
    const std::uint64_t size = std::strtoull(digits.c_str(), nullptr, 8);
    if (size > archive.size()) return;
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
}

void read_members(const std::string& path, std::size_t archive_bytes) {
  data::ArchiveReader archive(data::open_byte_stream(path));
  std::vector<char> content(1000);
  while (archive.next()) {
    const std::string name = "/" + archive.name() + "/";
    fuzz::require(archive.name()[0] != '/' && name.find("/../") == std::string::npos,
                  "no member outside the archive's folder");
    std::uint64_t bytes = 0;
    while (const std::size_t got = archive.read(content.data(), content.size())) bytes += got;
    fuzz::require(bytes == archive.size(), "a member is as long as its header says");
    fuzz::require(bytes <= archive_bytes, "no member is longer than its archive");
  }
}

void read_samples(const std::string& path) {
  const File file = File::open_for_reading(path);
  const std::uint64_t size = file.size();
  data::TarSamples samples(file);
  for (data::TarSample sample; samples.next(sample);) {
    fuzz::require(!sample.name.empty(), "a sample has a name");
    fuzz::require(sample.offset <= size && sample.bytes <= size - sample.offset,
                  "a picture lies in its archive");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  std::string_view rest = fuzz::as_text(data, size);
  const unsigned flags = fuzz::take_flags(rest);
  std::string archive = flags & fuzz::kZeroRuns ? fuzz::expand_zero_runs(rest) : std::string(rest);
  if (flags & fuzz::kChecksums) make_checksums_right(archive);
  file.write(flags & fuzz::kGzip ? fuzz::gzip(archive) : archive);
  // What begins like gzip data may be a thousand times longer inside.
  const std::size_t most = archive.size() * 1032;
  fuzz::read_or_refuse([most] { read_members(file.path(), most); });
  fuzz::read_or_refuse([] { read_samples(file.path()); });
  fuzz::read_or_refuse([] { fuzz::read_images(*data::open_cifar10(file.path(), 1)); });
  return 0;
}
