// The calls that changed files, with the bytes written, in their order (see fault_points.cpp), for
// tests/support/crash_states.py. Any thread; lock() makes a call and its entry atomic.
//
// An entry is a line of tab-separated fields (call, descriptor, number, length, path, second path),
// followed by `length` bytes.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "fault_plan.hpp"

namespace tandem::testing {

class CallRecord {
 public:
  CallRecord() {
    const std::string path = variable("FAULT_POINTS_RECORD");
    if (!path.empty()) file_ = std::fopen(path.c_str(), "ae");
  }

  // As in FaultPlan.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

  bool is_wanted() const { return file_ != nullptr; }

  std::unique_lock<std::mutex> lock() { return std::unique_lock<std::mutex>(mutex_); }

  void add(const char* call, int descriptor, long long number, const void* data, std::size_t bytes,
           const std::string& path = "", const std::string& second = "") {
    std::fprintf(file_, "%s\t%d\t%lld\t%zu\t%s\t%s\n", call, descriptor, number, bytes,
                 path.c_str(), second.c_str());
    if (bytes > 0) std::fwrite(data, 1, bytes, file_);
    std::fflush(file_);
  }

 private:
  std::FILE* file_ = nullptr;
  std::mutex mutex_;
};

}  // namespace tandem::testing
