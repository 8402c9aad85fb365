// Encodes bytes as base64 text (RFC 4648: the alphabet with + and /, padded), and decodes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem {

std::string to_base64(std::string_view bytes);
// Nothing where the text is not exactly what to_base64() makes of some bytes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tandem
