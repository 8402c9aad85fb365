#include "tandem/core/base64.hpp"

#include <openssl/evp.h>

namespace tandem {

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
