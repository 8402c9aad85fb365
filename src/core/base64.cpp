#include "tandem/core/base64.hpp"

#include <cstdint>

namespace tandem {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < group.size() ? static_cast<std::uint8_t>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= group.size() ? kAlphabet[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at + 4 <= text.size(); at += 4) {
    std::uint32_t bits = 0;
    for (const char letter : text.substr(at, 4)) {
      const std::size_t value = letter == '=' ? 0 : kAlphabet.find(letter);
      if (value == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(value);
    }
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 0xFF);
  }
  const std::size_t padding = text.size() - text.substr(0, text.find('=')).size();
  if (padding > 2 || padding > bytes.size()) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  // One text for each sequence of bytes: no stray bits, letters or padding elsewhere.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace tandem
