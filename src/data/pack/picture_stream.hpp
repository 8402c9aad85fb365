// Reads and checks pictures on several threads and returns them in order, with bounded memory. One
// thread calls next(). Throws what reading throws, but not for a picture that cannot be packed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tandem::data {

struct ReadPicture {
  std::string bytes;
  std::string fault;  // why it cannot be packed; empty: it can
  bool has_color = false;
  bool is_turned = false;
};

class PictureStream {
 public:
  // Makes picture `index`. Before it allocates, it calls `before` once with the number of bytes.
  // Called on several threads.
  using Make = std::function<ReadPicture(std::uint64_t index,
                                         const std::function<void(std::uint64_t)>& before)>;

  // Pictures 0 … count-1. The bytes of pictures that next() has not returned stay below
  // `most_bytes`, unless a single picture is larger.
  PictureStream(std::uint64_t count, int threads, std::uint64_t most_bytes, Make make);
  ~PictureStream();
  PictureStream(const PictureStream&) = delete;
  PictureStream& operator=(const PictureStream&) = delete;

  // The next picture; rethrows what making it threw. Call it `count` times at most.
  ReadPicture next();

 private:
  static constexpr std::size_t kWindow = 256;  // pictures that are begun and not returned

  struct Slot {
    ReadPicture picture;
    std::exception_ptr error;
    std::uint64_t bytes = 0;
    bool is_done = false;
  };

  void work();
  bool make_one();
  void take(std::uint64_t index, std::uint64_t bytes);
  Slot& slot(std::uint64_t index) { return slots_[index % kWindow]; }

  const std::uint64_t count_;
  const std::uint64_t most_bytes_;
  const Make make_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::uint64_t next_to_make_ = 0;
  std::uint64_t next_to_take_ = 0;  // memory is taken in order, so that the first always gets it
  std::uint64_t next_to_return_ = 0;
  std::uint64_t held_bytes_ = 0;
  bool is_given_up_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tandem::data
