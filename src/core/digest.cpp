#include "tandem/core/digest.hpp"

#include <openssl/evp.h>

#include <boost/crc.hpp>
#include <cstring>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"

namespace tandem {
namespace {

void require_openssl(bool succeeded) {
  if (!succeeded) throw InternalError("OpenSSL failed to make a SHA-256");
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  require_openssl(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, std::size_t bytes) {
  require_openssl(EVP_DigestUpdate(context_->evp, data, bytes) == 1);
}

std::string Sha256::finish() {
  unsigned char digest[32];
  require_openssl(EVP_DigestFinal_ex(context_->evp, digest, nullptr) == 1);
  constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kHex[byte >> 4];
    hex += kHex[byte & 15];
  }
  return hex;
}

std::string sha256_hex(std::string_view data) {
  Sha256 digest;
  digest.update(data.data(), data.size());
  return digest.finish();
}

std::uint32_t crc32(const void* data, std::size_t bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(data, bytes);
  return crc.checksum();
}

std::uint32_t crc32c(const void* data, std::size_t bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(data, bytes);
  return crc.checksum();
}

std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed) {
  constexpr std::size_t kLanes = 4;  // one chain of multiplications waits for each of its own
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto* in = static_cast<const unsigned char*>(data);
  const auto take = [&in, &bytes](std::uint64_t hash) {
    std::uint64_t word;
    std::memcpy(&word, in, kWord);
    in += kWord;
    bytes -= kWord;
    return mix64(hash ^ word) + 0x9E3779B97F4A7C15;
  };
  std::uint64_t hash = mix64(seed + bytes);
  if (bytes >= kLanes * kWord) {
    std::uint64_t lanes[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = hash + lane;
    while (bytes >= kLanes * kWord) {
      for (std::uint64_t& lane : lanes) lane = take(lane);
    }
    for (const std::uint64_t lane : lanes) hash = mix64(hash ^ lane) + 0x9E3779B97F4A7C15;
  }
  while (bytes >= kWord) hash = take(hash);
  std::uint64_t tail = 0;
  if (bytes > 0) std::memcpy(&tail, in, bytes);  // nothing may have no address
  return mix64(hash ^ tail);
}

// The offset keeps id 0 from hashing to 0, which would make its presence invisible in a sum.
std::uint64_t image_id_hash(std::uint64_t image_id) { return mix64(image_id + 0x9E3779B97F4A7C15); }

std::uint64_t image_id_hash_of_all(std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t id = 0; id < count; ++id) sum += image_id_hash(id);
  return sum;
}

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero byte
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  const auto padding = static_cast<int>(text.size() - (text.find_last_not_of('=') + 1));
  if (size < padding) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size - padding));  // OpenSSL counts padding as zero bytes
  // One text for each sequence of bytes: no stray bits, letters or padding elsewhere.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace tandem
