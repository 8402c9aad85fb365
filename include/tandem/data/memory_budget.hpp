// Bounds the memory that several threads use for large objects at a time. take() blocks until there
// is room. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tandem::data {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : bytes_(bytes), left_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // The share of one thread, returned by the destructor.
  class Share {
   public:
    explicit Share(MemoryBudget& budget) : budget_(budget) {}
    ~Share() { budget_.give_back(held_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Call it once. A request above the total waits until no other thread holds any.
    void take(std::uint64_t bytes) { held_ = budget_.take(bytes); }

   private:
    MemoryBudget& budget_;
    std::uint64_t held_ = 0;
  };

 private:
  std::uint64_t take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);

  const std::uint64_t bytes_;
  std::uint64_t left_;
  std::mutex mutex_;
  std::condition_variable given_back_;
};

}  // namespace tandem::data
