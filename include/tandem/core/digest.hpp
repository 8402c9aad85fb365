// SHA-256 (files, weights), CRC-32 (the user block), CRC-32C (TensorBoard's files) and a fast
// 64-bit hash (comparison of ranks), and base64. One thread per object. Throws InternalError if
// OpenSSL fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* data, std::size_t bytes);
  // 64 lower-case hex digits; the object must not be used afterwards.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view data);
// CRC-32 as in zlib and Ethernet (polynomial 0x04C11DB7, reflected).
std::uint32_t crc32(const void* data, std::size_t bytes);
// CRC-32C of RFC 3720, appendix B.4 (polynomial 0x1EDC6F41, reflected).
std::uint32_t crc32c(const void* data, std::size_t bytes);
// Not cryptographic; equal on every little-endian machine.
std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed = 0);

// The order-free fingerprint of a set of image ids is the sum (modulo 2^64) of this over its
// members.
std::uint64_t image_id_hash(std::uint64_t image_id);
// That sum over 0 … count-1.
std::uint64_t image_id_hash_of_all(std::uint64_t count);

// Encodes bytes as base64 text (RFC 4648: the alphabet with + and /, padded), and decodes it.
std::string to_base64(std::string_view bytes);
// Nothing where the text is not exactly what to_base64() makes of some bytes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tandem
