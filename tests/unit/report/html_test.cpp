#include "html.hpp"

#include <gtest/gtest.h>

namespace tandem::report {
namespace {

std::string escaped(const std::string& text) { return Html(text).markup(); }

TEST(Html, TextStaysText) {
  EXPECT_EQ(escaped("<script>alert('x' & \"y\")</script>"),
            "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;");
  EXPECT_EQ(escaped("\x1b[31mred\x07\n\t\x7f"), "\\x1b[31mred\\x07\\x0a\\x09\\x7f");
  EXPECT_EQ(escaped(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escaped("\xC2\x9B"
                    "31m"),
            "\\x9b31m")
      << "the one-byte form of ESC [";
  EXPECT_EQ(escaped("Gr\xC3\xB6\xC3\x9F"
                    "e \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "Gr\xC3\xB6\xC3\x9F"
            "e \xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST(Html, MarksThatReorderALineAreShown) {
  EXPECT_EQ(escaped("a\xE2\x80\xAE"
                    "b"),
            "a\\u202eb");
  EXPECT_EQ(escaped("\xE2\x80\x8B\xE2\x81\xA6\xEF\xBB\xBF"), "\\u200b\\u2066\\ufeff");
  EXPECT_EQ(escaped("\xD8\x9C\xC2\xAD\xE1\xA0\x8E\xEF\xBF\xB9"), "\\u061c\\u00ad\\u180e\\ufff9");
  EXPECT_EQ(escaped("\xF3\xA0\x81\xA1"), "\\ue0061") << "a tag, which nobody sees";
}

TEST(Html, WhatIsNoUtf8IsReplacedByteByByte) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped("a\xFF"
                    "b"),
            "a" + replacement + "b");
  EXPECT_EQ(escaped("\xC3"), replacement) << "half of a character";
  EXPECT_EQ(escaped("\xC0\xBC"), replacement + replacement) << "'<' in a longer form than it needs";
  EXPECT_EQ(escaped("\xE0\x80\xBC"), replacement + replacement + replacement);
  EXPECT_EQ(escaped("\xED\xA0\x80"), replacement + replacement + replacement) << "half of a pair";
  EXPECT_EQ(escaped("\xF4\x90\x80\x80").size(), 4 * replacement.size()) << "beyond the last";
  EXPECT_EQ(escaped("\xEF\xBF\xBF"), replacement) << "no character, and not allowed in XML";
  EXPECT_EQ(escaped("\xE2\x82<"), replacement + replacement + "&lt;")
      << "the next one is not eaten";
}

TEST(Html, ElementsEscapeTheirAttributes) {
  EXPECT_EQ(element("a", {{"title", "\"><script>"}}, Html("<b>")).markup(),
            "<a title=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt;</a>");
  EXPECT_EQ(element("img", {{"src", "data:"}}).markup(), "<img src=\"data:\"/>");
  EXPECT_EQ(element("p", Html::literal("<b/>")).markup(), "<p><b/></p>");
}

TEST(Html, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("ab\xC3\xB6"
                      "d",
                      3),
            "ab … (5 bytes)");
  EXPECT_EQ(shortened(std::string(3000, 'x'), 10), "xxxxxxxxxx … (3,000 bytes)");
  EXPECT_EQ(paragraph_text("a\n<b>").markup(), "a<br/>&lt;b&gt;");
}

TEST(Html, TheFirstRowAndColumnOfATableAreItsHeads) {
  const std::string markup = table({{Html("x"), Html("y")}, {Html("1"), Html("2")}}).markup();
  EXPECT_NE(markup.find("<tr><th scope=\"col\">x</th><th scope=\"col\">y</th></tr>"),
            std::string::npos);
  EXPECT_NE(markup.find("<tr><th scope=\"row\">1</th><td>2</td></tr>"), std::string::npos);
}

}  // namespace
}  // namespace tandem::report
