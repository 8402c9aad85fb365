// What: memory that several threads share for large things, so that few of them are there at once.
// Owns: a count. Threads: any; take() waits for what others hold. Throws: nothing.
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

  // What one thread holds; given back by the destructor.
  class Share {
   public:
    explicit Share(MemoryBudget& budget) : budget_(budget) {}
    ~Share() { budget_.give_back(held_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Once. Whoever asks for more than there is in all works alone.
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
