// The fault and the log that the environment asks for (see fault_points.cpp). Any thread.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace tandem::testing {

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class FaultPlan {
 public:
  FaultPlan() {
    std::istringstream places(variable("FAULT_POINTS_FOLDER"));
    for (std::string place; std::getline(places, place, ':');) {
      if (place.front() == '<') {
        special_.push_back(place);
      } else {
        places_.push_back(absolute(place));
      }
    }
    if (watches("<stdout>")) open_[STDOUT_FILENO] = "<stdout>";
    const std::string plan = variable("FAULT_POINTS");
    const std::size_t first = plan.find(':');
    const std::size_t second = plan.find(':', first + 1);
    if (second != std::string::npos) {
      call_ = plan.substr(0, first);
      const std::size_t at = call_.find('@');
      if (at != std::string::npos) file_ = call_.substr(at + 1);
      call_.erase(std::min(at, call_.size()));
      char* rest = nullptr;
      number_ = std::strtol(plan.c_str() + first + 1, &rest, 10);
      is_for_good_ = *rest == '+';
      action_ = plan.substr(second + 1);
    }
    const std::string log = variable("FAULT_POINTS_LOG");
    if (!log.empty()) log_ = std::fopen(log.c_str(), "ae");
  }

  // A process that is forked while another thread holds the lock would wait for it for ever.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

  // The absolute path without "." and "..".
  static std::string absolute(const std::string& path) {
    std::error_code error;
    return std::filesystem::absolute(path, error).lexically_normal().string();
  }

  bool watches(const std::string& special) const {
    for (const std::string& each : special_) {
      if (each == special) return true;
    }
    return false;
  }

  // The absolute path if it is watched or below a watched folder, otherwise empty.
  std::string path_of(const char* path) const {
    if (path == nullptr || places_.empty()) return "";
    const std::string text = absolute(path);
    for (const std::string& place : places_) {
      const bool is_below = text.compare(0, place.size(), place) == 0 &&
                            (text.size() == place.size() || text[place.size()] == '/');
      if (is_below) return text;
    }
    return "";
  }

  // The same for what was opened.
  std::string path_of(int descriptor) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = open_.find(descriptor);
    return found == open_.end() ? "" : found->second;
  }

  // The same for a path relative to an open folder.
  std::string path_of(int folder, const char* path) {
    if (path == nullptr || path[0] == '/' || folder < 0) return path_of(path);
    const std::string start = path_of(folder);
    return start.empty() ? "" : path_of((start + "/" + path).c_str());
  }

  void opened(int descriptor, const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(descriptor);
    if (descriptor >= 0 && !path.empty()) open_[descriptor] = path;
  }

  void closed(int descriptor) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(descriptor);
  }

  // What is to happen at this call; empty: nothing.
  std::string action_at(const std::string& call, const std::string& path, bool is_change) {
    if (path.empty()) return "";
    const std::lock_guard<std::mutex> lock(mutex_);
    if (log_ != nullptr) {
      std::fprintf(log_, "%s %s\n", call.c_str(), path.c_str());
      std::fflush(log_);
    }
    const bool is_counted = call_ == "any" || call_ == call || (call_ == "change" && is_change);
    const std::string name = path.substr(path.rfind('/') + 1);
    if (!is_counted || name.find(file_) == std::string::npos) return "";
    ++count_;
    return count_ == number_ || (is_for_good_ && count_ > number_) ? action_ : "";
  }

 private:
  std::vector<std::string> places_;
  std::vector<std::string> special_;
  std::string call_;
  std::string file_;
  long number_ = 0;
  bool is_for_good_ = false;
  std::string action_;
  std::FILE* log_ = nullptr;
  std::mutex mutex_;
  long count_ = 0;
  std::map<int, std::string> open_;
};

}  // namespace tandem::testing
