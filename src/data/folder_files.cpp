#include "tandem/data/folder_files.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tandem/core/error.hpp"

namespace tandem::data {

std::vector<std::string> files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  constexpr int kMaxDepth = 32;  // a link to a folder around it would never end
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink,
                                         error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    const bool is_hidden = entry->path().filename().string().front() == '.';
    const bool is_folder = entry->is_directory(error);
    if (error == std::errc::no_such_file_or_directory ||
        error == std::errc::too_many_symbolic_link_levels) {
      error.clear();  // a link to nothing, or to itself: told when the file is opened
      entry.disable_recursion_pending();
    }
    if (error) break;
    if (is_hidden && is_folder) entry.disable_recursion_pending();
    if (!is_hidden && !is_folder) files.push_back(entry->path().string());
    if (entry.depth() > kMaxDepth) {
      throw IoError(folder + ": holds folders in folders more than " + std::to_string(kMaxDepth) +
                    " deep, such as " + entry->path().string() +
                    "; a link back to the folder itself does that");
    }
    entry.increment(error);
  }
  if (error) {
    const std::string message = folder + ": cannot be listed: " + error.message();
    if (error == std::errc::no_such_file_or_directory) throw MissingInputError(message);
    throw IoError(message + "; check the folder");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tandem::data
