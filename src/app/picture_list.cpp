#include "picture_list.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/folder_files.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::app {

PictureList::PictureList(std::vector<std::string> arguments, std::istream& list)
    : arguments_(std::move(arguments)), list_(list) {}

std::optional<std::string> PictureList::next() {
  for (;;) {
    if (!of_folder_.empty()) {
      std::string path = std::move(of_folder_.back());
      of_folder_.pop_back();
      return path;
    }
    if (argument_ == arguments_.size()) return std::nullopt;
    const std::string& argument = arguments_[argument_];
    if (argument == "-") {
      if (auto line = next_line()) return line;
      ++argument_;
      continue;
    }
    ++argument_;
    if (!is_folder(argument)) return argument;
    enter_folder(argument);
  }
}

std::optional<std::string> PictureList::next_line() {
  std::string line;
  while (std::getline(list_, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) return line;
  }
  if (list_.bad()) throw IoError("standard input: cannot be read");
  return std::nullopt;
}

void PictureList::enter_folder(const std::string& path) {
  of_folder_ = data::files_below(path);
  of_folder_.erase(
      std::remove_if(of_folder_.begin(), of_folder_.end(),
                     [](const std::string& file) { return !data::is_picture_name(file); }),
      of_folder_.end());
  if (of_folder_.empty()) {
    throw DataError(path + ": the folder holds no file whose name ends in .png, .jpg or .jpeg");
  }
  std::reverse(of_folder_.begin(), of_folder_.end());
}

}  // namespace tandem::app
