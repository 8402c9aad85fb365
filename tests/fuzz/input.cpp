#include "input.hpp"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

namespace tandem::fuzz {
namespace {

// What a few bytes may become; more would only be slow.
constexpr std::size_t kMaxZeros = std::size_t{1} << 18;

}  // namespace

std::vector<std::string_view> split_files(std::string_view input, std::size_t count) {
  std::vector<std::string_view> files(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + 1 < count ? input.find(kBetweenFiles) : std::string_view::npos;
    files[i] = input.substr(0, end);
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + kBetweenFiles.size());
  }
  return files;
}

unsigned take_flags(std::string_view& file) {
  if (file.empty()) return 0;
  const auto flags = static_cast<unsigned char>(file[0]);
  file.remove_prefix(1);
  return flags;
}

std::string expand_zero_runs(std::string_view packed) {
  std::string content;
  std::size_t zeros = 0;
  while (!packed.empty()) {
    if (packed[0] != 0 || packed.size() < 3) {
      content += packed[0];
      packed.remove_prefix(1);
      continue;
    }
    const std::size_t run = static_cast<unsigned char>(packed[1]) +
                            std::size_t{256} * static_cast<unsigned char>(packed[2]);
    const std::size_t allowed = std::min(run, kMaxZeros - zeros);
    content.append(allowed, '\0');
    zeros += allowed;
    packed.remove_prefix(3);
  }
  return content;
}

std::string gzip(const std::string& content) {
  constexpr int kSmallWindow = 16 + 9;  // of 512 bytes, and gzip instead of zlib's own form
  constexpr int kMinMemory = 1;         // set up soonest
  z_stream zlib{};
  if (deflateInit2(&zlib, Z_BEST_SPEED, Z_DEFLATED, kSmallWindow, kMinMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::runtime_error("zlib cannot be started");
  }
  std::string packed(deflateBound(&zlib, content.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  zlib.avail_in = static_cast<uInt>(content.size());
  zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
  zlib.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&zlib, Z_FINISH);
  packed.resize(zlib.total_out);
  deflateEnd(&zlib);
  if (result != Z_STREAM_END) throw std::runtime_error("zlib cannot compress");
  return packed;
}

std::string make_file(std::string_view file) {
  const unsigned flags = take_flags(file);
  const std::string content = flags & kZeroRuns ? expand_zero_runs(file) : std::string(file);
  return flags & kGzip ? gzip(content) : content;
}

}  // namespace tandem::fuzz
