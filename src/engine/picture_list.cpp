#include "picture_list.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::app {
namespace {

constexpr char kList[] = "-";

}  // namespace

PictureList::PictureList(const std::vector<std::string>& arguments, NextLine list)
    : list_(std::move(list)) {
  for (const std::string& argument : arguments) {
    if (argument == kList || !is_folder(argument)) {
      paths_.push_back(argument);
      continue;
    }
    const std::size_t before = paths_.size();
    const std::vector<std::string> files = data::files_below(argument);
    std::copy_if(files.begin(), files.end(), std::back_inserter(paths_), data::is_picture_name);
    if (paths_.size() == before) {
      throw DataError(argument +
                      ": the folder holds no file whose name ends in .png, .jpg or .jpeg");
    }
  }
}

std::optional<std::string> PictureList::next() {
  while (at_ < paths_.size()) {
    if (paths_[at_] != kList) return paths_[at_++];
    if (auto line = next_line()) return line;
    ++at_;
  }
  return std::nullopt;
}

std::optional<std::string> PictureList::next_line() {
  while (auto line = list_()) {
    if (!line->empty() && line->back() == '\r') line->pop_back();
    if (line->empty()) continue;
    has_read_a_line_ = true;
    return line;
  }
  if (!std::exchange(has_read_a_line_, true)) {
    throw DataError(
        "standard input: names no file; the path of a picture on each line was expected");
  }
  return std::nullopt;
}

}  // namespace tandem::app
