#include "fletcher32.hpp"

#include <cstring>

namespace tandem::data {
namespace {

// The weighted sum of this many 16-bit words fits into 32 bits.
constexpr std::size_t kBlockWords = 256;
constexpr std::uint64_t kModulus = 65535;

// The remainder as HDF5 folds it: kModulus in place of 0, unless all words are 0.
std::uint64_t reduce(std::uint64_t sum) {
  const std::uint64_t rest = sum % kModulus;
  return rest == 0 && sum != 0 ? kModulus : rest;
}

std::uint32_t swap_bytes(std::uint64_t word) {
  return static_cast<std::uint32_t>((word & 0xFF) << 8 | word >> 8);
}

struct Sums {
  std::uint64_t plain = 0;     // of the words
  std::uint64_t weighted = 0;  // of `plain` after each word

  // One loop without a dependency between words, so that the compiler can vectorize it.
  void add(const std::uint8_t* data, std::size_t words) {
    std::uint32_t block_plain = 0;
    std::uint32_t block_weighted = 0;
    for (std::size_t i = 0; i < words; ++i) {
      std::uint16_t word;
      std::memcpy(&word, data + 2 * i, sizeof word);
      block_plain += word;
      block_weighted += static_cast<std::uint32_t>(words - i) * word;
    }
    weighted = reduce(weighted + words * plain + block_weighted);
    plain = reduce(plain + block_plain);
  }
};

}  // namespace

// Adds the words as this little-endian machine reads them. Modulo 65535 a byte swap is a
// multiplication by 256, so swapping both sums at the end equals swapping each word.
std::uint32_t fletcher32(const std::uint8_t* data, std::size_t bytes) {
  Sums sums;
  std::size_t words = bytes / 2;
  for (; words >= kBlockWords; words -= kBlockWords, data += 2 * kBlockWords) {
    sums.add(data, kBlockWords);
  }
  sums.add(data, words);
  if (bytes % 2 != 0) {
    const std::uint8_t last[2] = {data[2 * words], 0};
    sums.add(last, 1);
  }
  return swap_bytes(sums.weighted) << 16 | swap_bytes(sums.plain);
}

}  // namespace tandem::data
