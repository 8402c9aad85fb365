#include "tandem/core/text.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"

namespace tandem {
namespace {

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code <= 0x9F); }

bool reorders_line(char32_t code) {
  return code == 0x61C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

// Damerau-Levenshtein, in the form that edits no letter twice: letters put in, left out, replaced,
// or two neighbors exchanged, which is how people mistype.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distance(a.size() + 1,
                                                 std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = distance[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, replaced});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

// The only candidate that begins with the word, or ends with it after a '-' or '_'.
std::optional<std::string> only_one_with_part(std::string_view word,
                                              const std::vector<std::string>& candidates) {
  constexpr std::size_t kShortest = 3;
  if (word.size() < kShortest) return std::nullopt;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (candidate.size() <= word.size()) continue;
    const char before = candidate[candidate.size() - word.size() - 1];
    const bool is_last_part = ends_with(candidate, word) && (before == '-' || before == '_');
    if (!begins_with(candidate, word) && !is_last_part) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

}  // namespace

CodePoint code_point_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80             ? 1
                             : (first & 0xE0) == 0xC0 ? 2
                             : (first & 0xF0) == 0xE0 ? 3
                             : (first & 0xF8) == 0xF0 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return {};
  constexpr unsigned char kPayload[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  char32_t value = first & kPayload[length];
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    value = value << 6U | (byte & 0x3F);
  }
  const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || is_surrogate) return {};
  return {value, length, true};
}

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = code_point_at(text);
    char code[16];
    if (is_control(point.value)) {
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(point.value));
      out += code;
    } else if (reorders_line(point.value)) {
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(point.value));
      out += code;
    } else {
      out += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return out;
}

std::string shell_word(std::string_view word) {
  constexpr auto kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestWord = 64;  // of one that was typed; the work grows with it
  if (word.size() > kLongestWord) return std::nullopt;
  const std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const bool shares_a_letter = distance < std::max(word.size(), candidate.size());
    if (shares_a_letter && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best ? best : only_one_with_part(word, candidates);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) out += separator;
    out += part;
  }
  return out;
}

std::string fold(const std::vector<std::string>& parts) {
  constexpr std::size_t kColumns = 80;
  std::string text;
  std::size_t used = 0;  // columns of the last line
  for (const std::string& part : parts) {
    const std::size_t width = display_width(part);
    if (used > 0 && used + 1 + width > kColumns) {
      text += "\n  ";
      used = 2;
    } else if (used > 0) {
      text += ' ';
      ++used;
    }
    text += part;
    used += width;
  }
  return text;
}

std::string fold(std::string_view text) { return fold(split(text, ' ')); }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

bool begins_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

bool fits_pattern(const std::string& text, const std::string& pattern) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

std::string format_integer(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::ptrdiff_t first_digit = value < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first_digit; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return format_fixed(value, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string format_real(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

std::string format_fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

std::string format_duration(double seconds) {
  const auto total = static_cast<long long>(std::max(0.0, std::round(seconds)));
  char buffer[40];
  if (total >= 3600) {
    std::snprintf(buffer, sizeof buffer, "%lld:%02lld:%02lld", total / 3600, total / 60 % 60,
                  total % 60);
  } else {
    std::snprintf(buffer, sizeof buffer, "%lld:%02lld", total / 60, total % 60);
  }
  return buffer;
}

std::string format_utc(double unix_seconds, const char* format) {
  if (!(unix_seconds >= 0 && unix_seconds < 95'617'584'000)) return "";
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, format, &utc));
}

std::int64_t parse_integer(std::string_view text, std::int64_t lowest, std::int64_t highest,
                           std::string_view what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest ||
      value > highest) {
    throw UsageError(std::string(what) + ": '" + std::string(text) +
                     "' is not a whole number from " + std::to_string(lowest) + " to " +
                     std::to_string(highest));
  }
  return value;
}

double parse_real(std::string_view text, double lowest, double highest, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < lowest || value > highest) {
    throw UsageError(std::string(what) + ": '" + std::string(text) + "' is not a number from " +
                     format_real(lowest) + " to " + format_real(highest));
  }
  return value;
}

}  // namespace tandem
