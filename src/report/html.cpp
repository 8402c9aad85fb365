#include "html.hpp"

#include <cstdio>

#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// Marks that no reader sees, and that reorder or join what they do see.
bool is_unseen(char32_t code) {
  return code == 0xAD || code == 0x61C || code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE007F);
}

std::string_view named(char32_t code) {
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
    const CodePoint point = code_point_at(text);
    // Unicode reserves the last two code points of each plane, and XML forbids U+FFFE and U+FFFF.
    const char32_t code = (point.value & 0xFFFEU) == 0xFFFE ? kReplacement : point.value;
    char shown[16];
    if (code < 0x20 || (code >= 0x7F && code <= 0x9F)) {
      std::snprintf(shown, sizeof shown, "\\x%02x", static_cast<unsigned>(code));
      out += shown;
    } else if (is_unseen(code)) {
      std::snprintf(shown, sizeof shown, "\\u%04x", static_cast<unsigned>(code));
      out += shown;
    } else if (!named(code).empty()) {
      out += named(code);
    } else {
      out += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
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
