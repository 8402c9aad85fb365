#include "stale_memory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/kernel_file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kMaxNamed = 32;

std::vector<std::string> paths_in(const std::string& folder) {
  try {
    return list_folder(folder);
  } catch (const IoError&) {  // another finding reports it
    return {};
  }
}

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename(); }

bool is_segment(const std::string& path) {
  const std::string name = name_of(path);
  return begins_with(name, "vader_segment.") || begins_with(name, "tandem.");
}

// The inodes that processes have mapped: "begin-end flags offset device inode path" (proc(5)).
std::set<std::string> mapped_inodes(const std::string& processes) {
  std::set<std::string> inodes;
  for (const std::string& process : paths_in(processes)) {
    if (!is_digits(name_of(process))) continue;
    for (const std::string& line : split(read_kernel_file(process + "/maps").value_or(""), '\n')) {
      const std::vector<std::string> words = split(line, ' ');
      if (words.size() > 5 && words[4] != "0") inodes.insert(words[4]);
    }
  }
  return inodes;
}

}  // namespace

StaleMemory find_stale_memory(const std::string& folder, const std::string& processes) {
  std::vector<std::string> paths = paths_in(folder);
  paths.erase(std::remove_if(paths.begin(), paths.end(),
                             [](const std::string& path) { return !is_segment(path); }),
              paths.end());
  StaleMemory stale;
  if (paths.empty()) return stale;
  const std::set<std::string> mapped = mapped_inodes(processes);
  std::set<std::string> patterns;  // one for the ranks of a job
  for (const std::string& path : paths) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    if (mapped.count(std::to_string(status.st_ino)) != 0) continue;
    ++stale.files;
    stale.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    const bool is_of_mpi = begins_with(name_of(path), "vader_segment.");
    patterns.insert(is_of_mpi ? path.substr(0, path.rfind('.') + 1) + "*" : path);
  }
  // One pattern for all would take away what a running job has mapped.
  std::vector<std::string> words{"rm"};
  for (const std::string& pattern : patterns) {
    if (words.size() <= kMaxNamed) words.push_back(pattern);
  }
  if (!patterns.empty()) stale.command = join(split(fold(words), '\n'), " \\\n");
  return stale;
}

}  // namespace tandem::app
