#include "html.hpp"

#include <cstdint>
#include <cstdio>

#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

// Takes one character of UTF-8 from the front; kReplacement, and one byte less, where there is
// none.
std::uint32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<std::uint32_t>(static_cast<std::uint8_t>(text[at])) : 0U;
  };
  const std::uint32_t first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint32_t code = length == 1 ? first : first & (0xFFU >> (length + 1));
  bool is_whole = length == 1 || (first >= 0xC2 && first <= 0xF4);
  for (std::size_t i = 1; i < length; ++i) {
    is_whole = is_whole && (byte(i) & 0xC0U) == 0x80;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  // Longer than it need be, half of a UTF-16 pair, or beyond the last.
  constexpr std::uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  is_whole = is_whole && code >= kMin[length] && code <= 0x10FFFF && code / 0x800 != 0x1B;
  text.remove_prefix(is_whole ? length : 1);
  return is_whole && (code & 0xFFFEU) != 0xFFFE ? code : kReplacement;
}

// Marks that no reader sees, and that reorder or join what they do see.
bool is_unseen(std::uint32_t code) {
  return code == 0xAD || code == 0x61C || code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE007F);
}

std::string_view named(std::uint32_t code) {
  switch (code) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case kReplacement:
      return "\xEF\xBF\xBD";
    default:
      return {};
  }
}

std::string escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view before = text;
    const std::uint32_t code = take_character(text);
    char shown[16];
    if (code < 0x20 || (code >= 0x7F && code <= 0x9F)) {
      std::snprintf(shown, sizeof shown, "\\x%02x", code);
      out += shown;
    } else if (is_unseen(code)) {
      std::snprintf(shown, sizeof shown, "\\u%04x", code);
      out += shown;
    } else if (!named(code).empty()) {
      out += named(code);
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out;
}

bool has_no_content(std::string_view tag) {
  return tag == "img" || tag == "meta" || tag == "br" || tag == "input";
}

}  // namespace

Html::Html(std::string_view text) : markup_(escape(text)) {}

Html element(std::string_view tag, const Attributes& attributes, const Html& content) {
  Html html;
  html.markup_ = "<" + std::string(tag);
  for (const auto& [name, value] : attributes) {
    html.markup_ += " " + name + "=\"" + escape(value) + "\"";
  }
  if (has_no_content(tag)) {
    html.markup_ += "/>";
  } else {
    html.markup_ += ">" + content.markup_ + "</" + std::string(tag) + ">";
  }
  return html;
}

Html element(std::string_view tag, const Html& content) { return element(tag, {}, content); }

std::string shortened(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return std::string(text);
  std::size_t end = most_bytes;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // no half of a character
  return std::string(text.substr(0, end)) + " … (" + format_count(text.size()) + " bytes)";
}

Html paragraph_text(std::string_view text, std::size_t most_bytes) {
  Html html;
  for (const std::string& line : split(shortened(text, most_bytes), '\n')) {
    if (!html.empty()) html += element("br", Attributes{});
    html += Html(line);
  }
  return html;
}

Html table(const std::vector<std::vector<Html>>& rows, const std::string& style_class) {
  Html lines;
  for (const auto& row : rows) {
    const bool is_head = &row == &rows.front();
    Html cells;
    for (const Html& cell : row) {
      const bool names_row = &cell == &row.front();
      const Attributes scope{{"scope", is_head ? "col" : "row"}};
      cells += is_head || names_row ? element("th", scope, cell) : element("td", cell);
    }
    lines += element("tr", cells);
  }
  // Makes the scroll box reachable by keyboard.
  return element("div", {{"class", "scroll"}, {"tabindex", "0"}},
                 element("table", {{"class", style_class}}, element("tbody", lines)));
}

}  // namespace tandem::report
