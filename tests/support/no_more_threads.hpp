// While it exists, the system grants this process no more threads: there is no memory for a stack.
// Not with sanitizers, which need memory of their own for each call.
#pragma once

#include <sys/resource.h>

#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "tandem/core/kernel_file.hpp"

namespace tandem {

// glibc reuses stacks of ended threads, so some threads may start without new memory.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    const auto used = field_of(read_kernel_file("/proc/self/status").value_or(""), "VmSize");
    getrlimit(RLIMIT_AS, &before_);
    const rlimit no_stack{used.value_or(0) + (2 << 20), before_.rlim_max};
    hold_.lock();
    setrlimit(RLIMIT_AS, &no_stack);
    try {
      while (threads_.size() < 100) {
        threads_.emplace_back([this] { const std::lock_guard<std::mutex> lock(hold_); });
      }
    } catch (const std::system_error&) {
      are_refused = true;
    }
  }
  ~NoMoreThreads() {
    setrlimit(RLIMIT_AS, &before_);
    hold_.unlock();
    for (std::thread& each : threads_) each.join();
  }
  bool are_refused = false;

 private:
  rlimit before_{};
  std::mutex hold_;
  std::vector<std::thread> threads_;
};

}  // namespace tandem
