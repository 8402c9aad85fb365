#include "tandem/core/kernel_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "tandem/core/text.hpp"

namespace tandem {
namespace {

constexpr std::string_view kBlanks = " \t";

std::optional<std::uint64_t> number_at(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + begin, end, number);
  const bool is_whole_word = stopped == end || *stopped == ' ' || *stopped == '\n';
  if (error != std::errc() || !is_whole_word) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::string> read_kernel_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(descriptor, buffer, sizeof buffer)) != 0) {
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      break;
    }
  }
  ::close(descriptor);
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<std::uint64_t> field_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.substr(0, name.size()) != name) continue;
    line.remove_prefix(name.size());
    if (!line.empty() && line.front() == ':') line.remove_prefix(1);
    if (line.empty() || kBlanks.find(line.front()) == std::string_view::npos) continue;
    const auto number = number_at(line);
    const bool is_kilobytes = line.size() > 3 && line.substr(line.size() - 3) == " kB";
    if (number && is_kilobytes) return *number * 1024;
    return number;
  }
  return std::nullopt;
}

// The name before the third may hold spaces and brackets.
std::string field_of_stat(std::string_view text, int number) {
  const std::size_t end_of_name = text.rfind(") ");
  if (end_of_name == std::string_view::npos) return "";
  const std::vector<std::string> fields = split(text.substr(end_of_name + 2), ' ');
  const auto index = static_cast<std::size_t>(number - 3);
  return index < fields.size() ? fields[index] : "";
}

}  // namespace tandem
