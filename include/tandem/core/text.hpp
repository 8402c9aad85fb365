// Text for people: escaping, formatting and parsing of numbers, the nearest known word. The parse
// functions throw UsageError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tandem {

// A character of UTF-8.
struct CodePoint {
  char32_t value = 0xFFFD;
  std::size_t bytes = 1;
  bool is_valid = false;
};
// The character at the start of `text`, which is not empty. Returns U+FFFD for one byte if the
// bytes are not valid UTF-8: truncated, overlong, a surrogate, or beyond U+10FFFF.
CodePoint code_point_at(std::string_view text);

// The text with control characters (C0, DEL, C1 in UTF-8) as \xNN and marks that reorder a line as
// \uNNNN, so that it cannot steer a terminal. A newline that is wanted must be printed by the
// caller.
std::string escape_for_terminal(std::string_view text);

// The word quoted for a POSIX shell, if it needs quotes.
std::string shell_word(std::string_view word);

// The candidate with the smallest edit distance to `word`, if it is near: at most a third of the
// letters, two for short words, and not all. An edit inserts, deletes or replaces a letter, or
// swaps two. Otherwise the only candidate that begins with `word` or has it as its last part, as
// test_accuracy has accuracy. Otherwise absent.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

std::vector<std::string> split(std::string_view text, char separator);
std::string trim(std::string_view text);
bool begins_with(std::string_view text, std::string_view beginning);
bool ends_with(std::string_view text, std::string_view ending);
// Whether the text is one or more of the digits 0 to 9.
bool is_digits(std::string_view text);
// The text in lower case; changes only A to Z.
std::string to_lower(std::string_view text);
// Whether the whole text fits a shell pattern (fnmatch(3)): * is any text, ? any character, [ab]
// one of these.
bool fits_pattern(const std::string& text, const std::string& pattern);

// The parts, one blank apart, in lines of at most 80 columns; a longer part has a line of its own.
// Lines after the first are indented by two blanks. A text is folded between its words.
std::string fold(const std::vector<std::string>& parts);
std::string fold(std::string_view text);

// "50,000"; "1.5 MB" (powers of 1000); a double with the fewest digits that read back as the same
// double.
std::string format_integer(std::int64_t value);
template <typename Integer>
std::string format_count(Integer value) {
  static_assert(std::is_integral_v<Integer>);
  return format_integer(static_cast<std::int64_t>(value));
}
// "1 rank", "4 ranks", "50,000 images"
template <typename Integer>
std::string format_quantity(Integer count, std::string_view thing) {
  return format_count(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}
std::string format_bytes(std::uint64_t bytes);
std::string format_real(double value);
// printf's %.*f
std::string format_fixed(double value, int digits);
// "0:42", "1:02:03"
std::string format_duration(double seconds);
// A time in Unix seconds in strftime's `format`, in UTC; empty if it is invalid or after the year
// 5000.
std::string format_utc(double unix_seconds, const char* format);

// A whole decimal number, and nothing else, in [lowest, highest]; `what` names it in the message of
// the UsageError.
std::int64_t parse_integer(std::string_view text, std::int64_t lowest, std::int64_t highest,
                           std::string_view what);
// A finite decimal number in [lowest, highest], in the C locale.
double parse_real(std::string_view text, double lowest, double highest, std::string_view what);

}  // namespace tandem
