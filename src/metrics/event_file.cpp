#include "event_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"

namespace tandem::metrics {
namespace {

constexpr char kPrefix[] = "events.out.tfevents.";
constexpr std::size_t kSecondsDigits = 10;  // until the year 2286
constexpr int kMaxNames = 1000;

template <typename Number>
void append_number(std::string& text, Number value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  text.append(bytes, sizeof bytes);
}

// The names of the event files that are there.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string& path : list_folder(folder)) {
    const std::string name = std::filesystem::path(path).filename();
    if (begins_with(name, kPrefix)) names.push_back(name);
  }
  return names;
}

// Now, or a second after the newest file where a clock went back or a second has not passed.
std::int64_t seconds_for_name(const std::string& folder) {
  std::int64_t seconds = std::time(nullptr);
  for (const std::string& name : names_in(folder)) {
    const std::string digits = name.substr(sizeof kPrefix - 1, kSecondsDigits);
    if (!is_digits(digits)) continue;
    seconds = std::max<std::int64_t>(seconds, std::stoll(digits) + 1);
  }
  return seconds;
}

File make_file(const std::string& folder) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%0*lld", static_cast<int>(kSecondsDigits),
                static_cast<long long>(seconds_for_name(folder)));
  const std::string stem = folder + "/" + kPrefix + seconds + "." + kernel_host_name() + "." +
                           std::to_string(::getpid()) + ".";
  for (int attempt = 0; attempt < kMaxNames; ++attempt) {
    const std::string path = stem + std::to_string(attempt);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    const int descriptor = ::open(path.c_str(), flags, 0666);
    if (descriptor >= 0) return File(descriptor, path);
    if (errno != EEXIST) break;
  }
  throw CannotCreateError(stem + "0: cannot be created: " + errno_text() +
                          "; make the folder writable, or choose another --runs-dir");
}

}  // namespace

bool has_event_files(const std::string& folder) { return !names_in(folder).empty(); }

std::uint32_t masked_crc32c(std::string_view data) {
  const std::uint32_t crc = crc32c(data.data(), data.size());
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

std::string framed(std::string_view record) {
  std::string text;
  append_number(text, static_cast<std::uint64_t>(record.size()));
  append_number(text, masked_crc32c(text));
  text.append(record);
  append_number(text, masked_crc32c(record));
  return text;
}

EventFile::EventFile(const std::string& folder) : file_(make_file(folder)) {}

void EventFile::append(std::string_view record) { file_.append_whole(framed(record)); }

}  // namespace tandem::metrics
