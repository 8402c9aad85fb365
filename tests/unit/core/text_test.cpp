#include "tandem/core/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"

namespace tandem {
namespace {

TEST(CodePointAt, ReadsOneToFourBytes) {
  struct Character {
    const char* text;
    char32_t value;
    std::size_t bytes;
  };
  for (const Character& expected :
       {Character{"ab", U'a', 1}, Character{"\xC2\x80z", 0x80, 2}, Character{"\xDF\xBF", 0x7FF, 2},
        Character{"\xE0\xA0\x80", 0x800, 3}, Character{"\xED\x9F\xBF", 0xD7FF, 3},
        Character{"\xEF\xBF\xBF", 0xFFFF, 3}, Character{"\xF0\x90\x80\x80", 0x10000, 4},
        Character{"\xF4\x8F\xBF\xBFz", 0x10FFFF, 4}}) {
    const CodePoint point = code_point_at(expected.text);
    EXPECT_TRUE(point.is_valid) << expected.text;
    EXPECT_EQ(point.value, expected.value);
    EXPECT_EQ(point.bytes, expected.bytes) << expected.text;
  }
  EXPECT_TRUE(code_point_at(std::string(1, '\0')).is_valid);
}

TEST(CodePointAt, OtherBytesAreOneReplacementEach) {
  for (const char* text : {"\x80", "\xBF", "\xC2", "\xC2\x41", "\xE2\x80", "\xE2\x41\x80",
                           "\xF0\x9F\x98", "\xF0\x9F\x98\x41", "\xF8\x88\x80\x80\x80", "\xFF",
                           "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",  // too long
                           "\xED\xA0\x80", "\xED\xBF\xBF",                  // halves of a pair
                           "\xF4\x90\x80\x80"}) {                           // beyond the last
    const CodePoint point = code_point_at(text);
    EXPECT_FALSE(point.is_valid) << escape_for_terminal(text);
    EXPECT_EQ(point.value, char32_t{0xFFFD});
    EXPECT_EQ(point.bytes, 1U);
  }
}

TEST(EscapeForTerminal, ControlCharactersBecomeHex) {
  EXPECT_EQ(escape_for_terminal("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(escape_for_terminal(std::string("\0\n\r\x7f", 4)), "\\x00\\x0a\\x0d\\x7f");
  EXPECT_EQ(escape_for_terminal("\xc2\x9b"
                                "31m"),
            "\\x9b31m");
}

TEST(EscapeForTerminal, OtherTextIsLeftAlone) {
  EXPECT_EQ(escape_for_terminal("caf\xc3\xa9 \xe2\x82\xac"), "caf\xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(escape_for_terminal("\xe2\x80\xae"
                                "a\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f"),
            "\\u202ea\\u2069\\u061c\\u200f");
  EXPECT_EQ(escape_for_terminal("\xe2\x80\x93\xe2\x80"), "\xe2\x80\x93\xe2\x80")
      << "a dash, and half";
}

TEST(EscapeForTerminal, WhatIsCutOffIsNoMark) {
  for (const char* text : {"\xE2", "\xE2\x80", "\xE2\x41\x8E", "\xE2\x80\x41", "\xC2", "\xC2\x41",
                           "\xC2\xA0", "\xE2\x80\xA0"}) {
    EXPECT_EQ(escape_for_terminal(text), text);
  }
  EXPECT_EQ(escape_for_terminal("a\xE2\x80\x8F"
                                "b\xE2\x81\xA9\xD8\x9C"),
            "a\\u200fb\\u2069\\u061c");
}

TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("--lr=0.1"), "--lr=0.1");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("$(it's)"), "'$(it'\\''s)'");
}

TEST(FormatQuantity, OneIsSingular) {
  EXPECT_EQ(format_quantity(1, "rank"), "1 rank");
  EXPECT_EQ(format_quantity(0, "rank"), "0 ranks");
  EXPECT_EQ(format_quantity(50000, "image"), "50,000 images");
}

TEST(BeginsWith, ComparesTheBeginning) {
  EXPECT_TRUE(begins_with("step.pth", "step"));
  EXPECT_TRUE(begins_with("a", "a"));
  EXPECT_TRUE(begins_with("a", ""));
  EXPECT_FALSE(begins_with("step.pth", ".pth"));
  EXPECT_FALSE(begins_with("s", "ss"));
}

TEST(IsDigits, NeedsOneDigitAndNothingElse) {
  EXPECT_TRUE(is_digits("0123456789"));
  for (const char* text : {"", "-1", "1 ", "1.0", "0x1"}) EXPECT_FALSE(is_digits(text)) << text;
}

TEST(ToLower, ChangesLettersOfAsciiOnly) {
  EXPECT_EQ(to_lower("A.JPEG@[`{z\xC3\x84"), "a.jpeg@[`{z\xC3\x84");
  EXPECT_EQ(to_lower(""), "");
}

TEST(EndsWith, ComparesTheEnd) {
  EXPECT_TRUE(ends_with("step.safetensors", ".safetensors"));
  EXPECT_TRUE(ends_with("a", "a"));
  EXPECT_FALSE(ends_with("step.pth", ".safetensors"));
  EXPECT_FALSE(ends_with("s", "ss"));
}

TEST(Text, FitsAPatternOfAShell) {
  EXPECT_TRUE(fits_pattern("layer1.0.bn1.weight", "layer1.*"));
  EXPECT_TRUE(fits_pattern("layer1.0.bn1.weight", "*.bn?.*"));
  EXPECT_TRUE(fits_pattern("fc.bias", "fc.bias"));
  EXPECT_FALSE(fits_pattern("layer10.weight", "layer?.*"));
  EXPECT_FALSE(fits_pattern("fc.bias", "fc"));
}

TEST(Nearest, FindsATypingErrorAndNothingFarFetched) {
  const std::vector<std::string> options{"batch-size", "bucket-mb", "epochs", "lr"};
  EXPECT_EQ(nearest("batchsize", options), "batch-size");
  EXPECT_EQ(nearest("epoch", options), "epochs");
  EXPECT_EQ(nearest("checkpoint", options), std::nullopt);
  EXPECT_EQ(nearest("epochs", {}), std::nullopt);
}

TEST(Nearest, TakesTwoLettersThatChangedPlacesForOneMistake) {
  EXPECT_EQ(nearest("trian", {"brain", "train"}), "train");
  EXPECT_EQ(nearest("rl", {"k", "lr"}), "lr");
  EXPECT_EQ(nearest("eopchs", {"epochs"}), "epochs");
}

TEST(Nearest, WantsALetterInCommonAndEndsSoonOnLongWords) {
  EXPECT_EQ(nearest("xy", {"lr"}), std::nullopt);
  EXPECT_EQ(nearest("", {"lr"}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'a'), {std::string(1'000'000, 'b')}), std::nullopt);
}

TEST(Nearest, ElseTakesTheOnlyOneThatHasTheWordAsAPart) {
  const std::vector<std::string> columns{"train_loss", "test_loss", "test_accuracy", "--version"};
  EXPECT_EQ(nearest("accuracy", columns), "test_accuracy");
  EXPECT_EQ(nearest("--vers", columns), "--version");
  EXPECT_EQ(nearest("loss", columns), std::nullopt) << "two have it";
  EXPECT_EQ(nearest("curacy", columns), std::nullopt) << "not a whole part";
  EXPECT_EQ(nearest("tr", {"train"}), std::nullopt) << "too short";
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Trim, RemovesBlanksAtBothEnds) {
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(FormatCount, GroupsThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(50000), "50,000");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
}

TEST(FormatBytes, UsesPowersOfThousand) {
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1500), "1.5 kB");
  EXPECT_EQ(format_bytes(153600000), "153.6 MB");
}

TEST(FormatReal, IsTheShortestThatReadsBack) {
  EXPECT_EQ(format_real(0.1), "0.1");
  EXPECT_EQ(std::stod(format_real(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(format_fixed(0.98765, 2), "0.99");
}

TEST(FormatDuration, HasHoursOnlyWhereNeeded) {
  EXPECT_EQ(format_duration(42.4), "0:42");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(3723), "1:02:03");
  EXPECT_EQ(format_duration(-1), "0:00");
}

TEST(ParseInteger, TakesWholeNumbersInRangeOnly) {
  EXPECT_EQ(parse_integer("64", 1, 100, "--batch-size"), 64);
  EXPECT_EQ(parse_integer("-5", -5, 5, "x"), -5);
  for (const char* wrong :
       {"", "0", "101", "6.4", "64 ", " 64", "+64", "0x40", "64k", "9999999999999999999"}) {
    EXPECT_THROW(parse_integer(wrong, 1, 100, "--batch-size"), UsageError) << wrong;
  }
}

TEST(ParseInteger, MessageNamesOptionValueAndRange) {
  try {
    parse_integer("many", 1, 100, "--batch-size");
    FAIL() << "UsageError was expected";
  } catch (const UsageError& error) {
    const std::string message = error.what();
    for (const char* part : {"--batch-size", "'many'", "1 to 100"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

TEST(ParseReal, TakesFiniteNumbersInRangeOnly) {
  EXPECT_DOUBLE_EQ(parse_real("1e-3", 0, 1, "--lr"), 0.001);
  EXPECT_DOUBLE_EQ(parse_real(".5", 0, 1, "--lr"), 0.5);
  for (const char* wrong : {"", "nan", "inf", "1.5", "-0.1", "0,5", "0.5x", "1e999"}) {
    EXPECT_THROW(parse_real(wrong, 0, 1, "--lr"), UsageError) << wrong;
  }
}

TEST(FormatTable, AlignsColumnsByCharacters) {
  EXPECT_EQ(format_table({{"rank", "host"}, {"0", "n\xc3\xb6rd"}, {"10", "b"}}),
            "rank  host\n0     n\xc3\xb6rd\n10    b");
}

TEST(Fold, KeepsLinesTo80Columns) {
  const std::string word(39, 'x');
  EXPECT_EQ(fold({word, word + "y"}), word + " " + word + "y");
  EXPECT_EQ(fold({word, word + "yz"}), word + "\n  " + word + "yz");
  EXPECT_EQ(fold(word + " " + word + " a"), word + " " + word + "\n  a");
  EXPECT_EQ(fold(std::string(90, 'x')), std::string(90, 'x'));
  EXPECT_EQ(fold({word + " " + word, "\u00e9"}), word + " " + word + "\n  \u00e9");
  EXPECT_EQ(fold({word, word.substr(1) + "\u00e9"}), word + " " + word.substr(1) + "\u00e9");
  EXPECT_EQ(fold(""), "");
}

TEST(FormatUtc, SaysNothingOfWhatIsNoTime) {
  EXPECT_EQ(format_utc(1795265306.9, "%Y-%m-%d %H:%M:%S"), "2026-11-21 12:48:26");
  EXPECT_EQ(format_utc(0, "%Y"), "1970");
  EXPECT_EQ(format_utc(95'617'583'999, "%Y"), "4999");
  for (const double none : {-1.0, 95'617'584'000.0, 1e300, std::nan("")}) {
    EXPECT_EQ(format_utc(none, "%Y"), "") << none;
  }
}

}  // namespace
}  // namespace tandem
