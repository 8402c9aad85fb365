#include "line_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::metrics {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

}  // namespace

void read_lines(const File& file, std::uint64_t from, std::uint64_t to, const TakeLine& take) {
  // From the byte before, so that a line that begins at `from` is seen to begin there.
  std::uint64_t at = from - std::min<std::uint64_t>(from, 1);
  bool is_skipped = from > 0;  // up to where the next line begins
  bool is_too_long = false;
  std::string chunk(kChunk, '\0');
  std::string begun;  // a line that goes on in the next chunk
  while (at < to) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, to - at));
    const std::size_t got = file.read_at(at, chunk.data(), wanted);
    if (got == 0) return;
    std::string_view rest(chunk.data(), got);
    at += got;
    for (std::size_t length = 0; (length = rest.find('\n')) != std::string_view::npos;) {
      begun += rest.substr(0, length);
      rest.remove_prefix(length + 1);
      if (std::exchange(is_too_long, false)) begun.clear();
      if (!std::exchange(is_skipped, false) && !take(begun, at - rest.size())) return;
      begun.clear();
    }
    begun += rest;
    if (begun.size() <= kLongestLine) continue;
    is_too_long = true;
    begun.clear();
  }
}

}  // namespace tandem::metrics
