#include "picture_list.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::app {
namespace {

constexpr char kList[] = "-";

}  // namespace

LineReader::LineReader(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)), stop_event_(::eventfd(0, EFD_CLOEXEC)) {
  if (stop_event_ < 0) throw IoError(name_ + ": eventfd failed: " + errno_text());
}

LineReader::~LineReader() { ::close(stop_event_); }

std::optional<std::string> LineReader::next() {
  std::size_t end = buffer_.find('\n', at_);
  while (end == std::string::npos) {
    const std::size_t searched = buffer_.size() - at_;
    if (!read_more()) break;
    end = buffer_.find('\n', at_ + searched);
  }
  const bool is_last = end == std::string::npos;
  if (is_last && at_ == buffer_.size()) return std::nullopt;
  std::string line = buffer_.substr(at_, is_last ? end : end - at_);
  at_ = is_last ? buffer_.size() : end + 1;
  return line;
}

void LineReader::stop() { ::eventfd_write(stop_event_, 1); }

// False at the end, and once it has been stopped.
bool LineReader::read_more() {
  if (ended_) return false;
  buffer_.erase(0, at_);
  at_ = 0;
  std::array<char, 1 << 16> bytes;
  while (true) {
    std::array<pollfd, 2> waits{{{descriptor_, POLLIN, 0}, {stop_event_, POLLIN, 0}}};
    const bool waited = ::poll(waits.data(), waits.size(), -1) >= 0;
    if (waited && waits[1].revents != 0) {
      ended_ = true;
      buffer_.clear();  // an incomplete line could name another file
      return false;
    }
    const ssize_t got = waited ? ::read(descriptor_, bytes.data(), bytes.size()) : -1;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) throw IoError(name_ + ": cannot be read: " + errno_text());
    ended_ = got == 0;
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
    return !ended_;
  }
}

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
