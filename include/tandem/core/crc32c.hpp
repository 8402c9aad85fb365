// What: CRC-32C (Castagnoli, RFC 3720 appendix B.4), which TensorBoard's files carry.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem {

// By the processor's own instruction where it has one.
std::uint32_t crc32c(const void* data, std::size_t bytes);

namespace detail {

// For processors without it.
std::uint32_t crc32c_by_table(const void* data, std::size_t bytes);

}  // namespace detail
}  // namespace tandem
