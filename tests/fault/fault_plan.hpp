// What: the fault that the environment asks for (see fault_points.cpp). Owns: the names of the open
// files below its folder, and the number of calls so far. Threads: any. Throws: nothing.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace tandem::testing {

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class FaultPlan {
 public:
  FaultPlan() : folder_(variable("FAULT_POINTS_FOLDER")) {
    const std::string plan = variable("FAULT_POINTS");
    const std::size_t first = plan.find(':');
    const std::size_t second = plan.find(':', first + 1);
    if (second != std::string::npos) {
      call_ = plan.substr(0, first);
      number_ = std::atol(plan.c_str() + first + 1);
      action_ = plan.substr(second + 1);
    }
    const std::string log = variable("FAULT_POINTS_LOG");
    if (!log.empty()) log_ = std::fopen(log.c_str(), "ae");
  }

  // The path where it is the folder or below it, otherwise empty.
  std::string path_of(const char* path) const {
    const std::string text = path;
    const bool is_below = !folder_.empty() && text.compare(0, folder_.size(), folder_) == 0 &&
                          (text.size() == folder_.size() || text[folder_.size()] == '/');
    return is_below ? text : "";
  }

  // The same for what was opened.
  std::string path_of(int descriptor) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = open_.find(descriptor);
    return found == open_.end() ? "" : found->second;
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
  std::string action_at(const std::string& call, const std::string& path) {
    if (path.empty()) return "";
    const std::lock_guard<std::mutex> lock(mutex_);
    if (log_ != nullptr) {
      std::fprintf(log_, "%s %s\n", call.c_str(), path.c_str());
      std::fflush(log_);
    }
    const bool is_counted = call_ == "any" || call_ == call;
    return is_counted && ++count_ == number_ ? action_ : "";
  }

 private:
  const std::string folder_;
  std::string call_;
  long number_ = 0;
  std::string action_;
  std::FILE* log_ = nullptr;
  std::mutex mutex_;
  long count_ = 0;
  std::map<int, std::string> open_;
};

}  // namespace tandem::testing
