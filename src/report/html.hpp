// Fragments of a page. Text is escaped when it becomes a fragment, so strings from outside cannot
// become markup. Fragments are well-formed XML too, so that any XML parser can check a page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::report {

class Html {
 public:
  Html() = default;
  // Control characters and those that reorder a line are shown as \xNN and \uNNNN; bytes that are
  // no UTF-8 become U+FFFD.
  explicit Html(std::string_view text);
  // Markup of the program's own. It takes a literal, so that nothing else gets here.
  template <std::size_t kSize>
  static Html literal(const char (&markup)[kSize]) {
    Html html;
    html.markup_.assign(markup, kSize - 1);
    return html;
  }

  Html& operator+=(const Html& other) {
    markup_ += other.markup_;
    return *this;
  }
  const std::string& markup() const { return markup_; }
  bool empty() const { return markup_.empty(); }

 private:
  friend Html element(std::string_view, const std::vector<std::pair<std::string, std::string>>&,
                      const Html&);
  std::string markup_;
};

inline Html operator+(Html one, const Html& other) { return one += other; }

using Attributes = std::vector<std::pair<std::string, std::string>>;  // values are escaped

// <tag name="value">content</tag>; <img …/> and the like where they have no content.
Html element(std::string_view tag, const Attributes& attributes, const Html& content = Html());
Html element(std::string_view tag, const Html& content);

// A text of several lines, at most `most_bytes` of it, with a note if it is cut.
Html paragraph_text(std::string_view text, std::size_t most_bytes = 2000);
// At most `most_bytes` of a text.
std::string shortened(std::string_view text, std::size_t most_bytes = 300);

// The first row is the header. The table scrolls sideways in its box.
Html table(const std::vector<std::vector<Html>>& rows, const std::string& style_class = "");

}  // namespace tandem::report
