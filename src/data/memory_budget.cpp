#include "tandem/data/memory_budget.hpp"

#include <algorithm>

namespace tandem::data {

std::uint64_t MemoryBudget::take(std::uint64_t bytes) {
  bytes = std::min(bytes, bytes_);
  std::unique_lock<std::mutex> lock(mutex_);
  given_back_.wait(lock, [&] { return left_ >= bytes; });
  left_ -= bytes;
  return bytes;
}

void MemoryBudget::give_back(std::uint64_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    left_ += bytes;
  }
  given_back_.notify_all();
}

}  // namespace tandem::data
