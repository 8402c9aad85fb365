#include "picture_stream.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace tandem::data {

PictureStream::PictureStream(std::uint64_t count, int threads, std::uint64_t most_bytes, Make make)
    : count_(count), most_bytes_(most_bytes), make_(std::move(make)), slots_(kWindow) {
  // Each makes one picture at a time, so more threads would only wait.
  const auto most = static_cast<int>(std::min<std::uint64_t>(count, kWindow));
  try {
    for (int i = 0; i < std::min(threads, most); ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system grants no more threads. The threads that exist, or next(), do the work.
  }
}

PictureStream::~PictureStream() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_given_up_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PictureStream::work() {
  while (make_one()) {
  }
}

// False once nothing is left to make.
bool PictureStream::make_one() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] {
    return is_given_up_ || next_to_make_ == count_ || next_to_make_ < next_to_return_ + kWindow;
  });
  if (is_given_up_ || next_to_make_ == count_) return false;
  const std::uint64_t index = next_to_make_++;
  lock.unlock();
  Slot made;
  bool has_taken = false;
  const auto before = [&](std::uint64_t bytes) {
    made.bytes = bytes;
    has_taken = true;
    take(index, bytes);
  };
  try {
    made.picture = make_(index, before);
  } catch (...) {
    made.error = std::current_exception();  // rethrown by next()
  }
  if (!has_taken) take(index, 0);
  made.is_done = true;
  lock.lock();
  slot(index) = std::move(made);
  lock.unlock();
  changed_.notify_all();
  return true;
}

void PictureStream::take(std::uint64_t index, std::uint64_t bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] {
    const bool fits = held_bytes_ == 0 || held_bytes_ + bytes <= most_bytes_;
    return is_given_up_ || (next_to_take_ == index && fits);
  });
  held_bytes_ += bytes;
  next_to_take_ = std::max(next_to_take_, index + 1);
  lock.unlock();
  changed_.notify_all();
}

ReadPicture PictureStream::next() {
  if (threads_.empty()) make_one();
  std::unique_lock<std::mutex> lock(mutex_);
  Slot& first = slot(next_to_return_);
  changed_.wait(lock, [&] { return first.is_done; });
  Slot taken = std::exchange(first, Slot());
  ++next_to_return_;
  held_bytes_ -= taken.bytes;
  lock.unlock();
  changed_.notify_all();
  if (taken.error) std::rethrow_exception(taken.error);
  return std::move(taken.picture);
}

}  // namespace tandem::data
