#include "tandem/core/crc32c.hpp"

#include <array>
#include <cstring>

namespace tandem {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41, reflected

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) * kPolynomial);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(const void* data,
                                                                      std::size_t bytes) {
  const auto* in = static_cast<const unsigned char*>(data);
  std::uint64_t crc = 0xFFFFFFFF;
  for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, in, sizeof word);
    crc = __builtin_ia32_crc32di(crc, word);
    in += sizeof word;
  }
  auto tail = static_cast<std::uint32_t>(crc);
  for (; bytes > 0; --bytes) tail = __builtin_ia32_crc32qi(tail, *in++);
  return ~tail;
}
#endif

}  // namespace

namespace detail {

std::uint32_t crc32c_by_table(const void* data, std::size_t bytes) {
  const auto* in = static_cast<const unsigned char*>(data);
  std::uint32_t crc = 0xFFFFFFFF;
  for (; bytes > 0; --bytes) crc = (crc >> 8) ^ kTable[(crc ^ *in++) & 0xFF];
  return ~crc;
}

}  // namespace detail

std::uint32_t crc32c(const void* data, std::size_t bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(data, bytes);
#endif
  return detail::crc32c_by_table(data, bytes);
}

}  // namespace tandem
