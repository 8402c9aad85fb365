#include "file_pattern.hpp"

#include <glob.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::size_t kMostFiles = 1'000'000;

[[noreturn]] void fail_too_many(const std::string& word) {
  throw UsageError(word + ": names more than 1,000,000 files");
}

// At the commas outside of braces.
std::vector<std::string> split_outside_braces(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    if (c == '{') ++depth;
    if (c == '}' && depth > 0) --depth;
    parts.back() += c;
  }
  return parts;
}

bool is_number(const std::string& text) { return is_digits(text) && text.size() <= 9; }

// "000..009": the numbers, filled with zeros to the longer of both. Absent for another text.
std::optional<std::vector<std::string>> numbers_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const std::string first = text.substr(0, dots);
  const std::string last = text.substr(dots + 2);
  if (!is_number(first) || !is_number(last) || std::stoul(first) > std::stoul(last)) {
    return std::nullopt;
  }
  const bool is_filled = (first.size() > 1 && first[0] == '0') || (last[0] == '0');
  const std::size_t digits = is_filled ? std::max(first.size(), last.size()) : 0;
  if (std::stoul(last) - std::stoul(first) >= kMostFiles) fail_too_many(text);
  std::vector<std::string> numbers;
  for (unsigned long i = std::stoul(first); i <= std::stoul(last); ++i) {
    std::string number = std::to_string(i);
    if (number.size() < digits) number.insert(0, digits - number.size(), '0');
    numbers.push_back(std::move(number));
  }
  return numbers;
}

// The words that bash makes of braces; a pair without comma and numbers stays as it is.
std::vector<std::string> expand_braces(const std::string& word) {
  for (std::size_t open = word.find('{'); open != std::string::npos;
       open = word.find('{', open + 1)) {
    const std::size_t close = word.find('}', open);
    if (close == std::string::npos) break;
    const std::string inside = word.substr(open + 1, close - open - 1);
    std::vector<std::string> parts = split(inside, ',');
    if (parts.size() == 1) parts = numbers_of(inside).value_or(std::vector<std::string>());
    if (parts.empty()) continue;
    std::vector<std::string> words;
    const std::vector<std::string> rests = expand_braces(word.substr(close + 1));
    if (rests.size() > kMostFiles / parts.size()) fail_too_many(word);
    for (const std::string& part : parts) {
      for (const std::string& rest : rests) words.push_back(word.substr(0, open) + part + rest);
    }
    return words;
  }
  return {word};
}

bool has_wildcard(const std::string& word) {
  return word.find_first_of("*?[") != std::string::npos;
}

void add_fitting(const std::string& pattern, std::vector<std::string>& files) {
  glob_t found{};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, ::globfree);
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  if (code == GLOB_NOMATCH) {
    throw MissingInputError(pattern +
                            ": no file has such a name; check the folder and the pattern");
  }
  if (code != 0) throw IoError(pattern + ": the folder cannot be read");
  files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
}

}  // namespace

bool is_file_pattern(const std::string& word) {
  return word.find_first_of("*?[{,") != std::string::npos && !file_exists(word);
}

std::vector<std::string> files_of_pattern(const std::string& word) {
  if (!is_file_pattern(word)) return {word};
  std::vector<std::string> files;
  for (const std::string& part : split_outside_braces(word)) {
    if (part.empty()) throw UsageError(word + ": has an empty name beside a comma; leave it out");
    for (const std::string& each : expand_braces(part)) {
      if (has_wildcard(each) && !file_exists(each)) {
        add_fitting(each, files);
        continue;
      }
      if (!file_exists(each)) {
        throw MissingInputError(each + ": is not there; " + word + " names it");
      }
      files.push_back(each);
    }
  }
  std::sort(files.begin(), files.end());
  const auto doubled = std::adjacent_find(files.begin(), files.end());
  if (doubled != files.end()) {
    throw UsageError(*doubled + ": is named twice by " + word + "; name each file once");
  }
  return files;
}

}  // namespace tandem::data
