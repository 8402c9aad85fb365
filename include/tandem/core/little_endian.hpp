// Integers in the byte order of files, lowest byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

// The value of `count` bytes at `at`, which must exist; at most eight.
inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

}  // namespace tandem
