#include "tandem/metrics/superseded.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::metrics {
namespace {

// Creates the folder with the next free number.
std::string make_numbered(const std::string& checkpoints) {
  make_folders_durably(checkpoints);
  for (std::uint64_t number = 1;; ++number) {
    std::string path = checkpoints + "/superseded-" + std::to_string(number);
    if (::mkdir(path.c_str(), 0777) == 0) {
      sync_folder(checkpoints);
      return path;
    }
    if (errno == EEXIST) continue;
    throw IoError(path + ": the folder cannot be created: " + errno_text() +
                  "; a resumed run moves its later files there");
  }
}

}  // namespace

Superseded::Superseded(std::string checkpoints) : checkpoints_(std::move(checkpoints)) {}

std::string Superseded::place_of(const std::string& name) {
  if (folder_.empty()) folder_ = make_numbered(checkpoints_);
  std::string path = folder_ + "/" + name;
  make_folders_durably(folder_of(path));
  return path;
}

void Superseded::move(const std::string& path, const std::string& name) {
  if (is_folder(path)) {
    for (const std::string& each : list_folder(path)) {
      move(each, name + "/" + std::filesystem::path(each).filename().string());
    }
    return;
  }
  move_durably(path, place_of(name));
}

}  // namespace tandem::metrics
