#include "leftovers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;
constexpr char kMark[] = ".tmp.";

bool is_number(const std::string& text) { return is_digits(text) && text.size() <= 9; }

// ".NAME.tmp.HOST.NAMESPACE.PID", optionally followed by ".N"; HOST may contain dots and numbers.
struct TemporaryName {
  std::string name;
  std::string maker;  // the text after kMark

  static std::optional<TemporaryName> parse(const std::string& file) {
    const std::size_t mark = file.rfind(kMark);
    if (file.front() != '.' || mark == std::string::npos || mark < 2) return std::nullopt;
    const std::string maker = file.substr(mark + std::strlen(kMark));
    // The last part is a number. In names of earlier versions it may be the only part.
    if (!is_number(maker.substr(maker.rfind('.') + 1))) return std::nullopt;
    return TemporaryName{file.substr(1, mark - 1), maker};
  }

  // Whether it was made by a process of this PID namespace that has ended.
  bool is_orphan() const {
    const std::string here = maker_prefix();
    if (!begins_with(maker, here)) return false;
    const std::size_t end = std::min(maker.find('.', here.size()), maker.size());
    const std::string process = maker.substr(here.size(), end - here.size());
    return is_number(process) && ::kill(std::stoi(process), 0) != 0 && errno == ESRCH;
  }
};

// Files that runs write into their folders. Files of other names do not belong to tandem.
bool is_written_by_runs(const std::string& name) {
  constexpr const char* kNames[] = {"latest", "best"};
  constexpr const char* kEnds[] = {".safetensors", ".json", ".jsonl", ".ini",
                                   ".html",        ".pth",  ".pt"};
  return std::count(std::begin(kNames), std::end(kNames), name) > 0 ||
         std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](const char* end) { return ends_with(name, end); });
}

}  // namespace

std::string maker_prefix() {
  struct stat status {};
  ::stat("/proc/self/ns/pid", &status);  // 0 if the kernel has no answer
  return kernel_host_name() + "." + std::to_string(status.st_ino) + ".";
}

void remove_orphans(const std::string& folder, const std::string& name) {
  std::error_code error;  // ignored: a folder that cannot be listed may still be writable
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto parts = TemporaryName::parse(entry->path().filename());
    if (parts && parts->name == name && parts->is_orphan()) ::unlink(entry->path().c_str());
  }
}

void remove_temporaries(const std::string& folder) {
  for (const std::string& path : list_folder(folder)) {
    const auto parts = TemporaryName::parse(fs::path(path).filename());
    if (!parts || !is_written_by_runs(parts->name)) continue;
    if (::unlink(path.c_str()) != 0) {
      throw IoError(path + ": cannot be removed: " + errno_text());
    }
  }
}

}  // namespace tandem
