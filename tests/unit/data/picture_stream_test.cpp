#include "data/pack/picture_stream.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace tandem::data {
namespace {

using Before = std::function<void(std::uint64_t)>;

ReadPicture picture_of(std::uint64_t index) {
  ReadPicture picture;
  picture.bytes = std::to_string(index);
  return picture;
}

TEST(PictureStream, GivesAllInOrder) {
  for (const int threads : {1, 2, 9}) {
    PictureStream stream(1000, threads, 100, [](std::uint64_t index, const Before& before) {
      if (index % 3 != 0) before(index % 40);
      if (index % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      return picture_of(index);
    });
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(stream.next().bytes, std::to_string(i));
  }
}

TEST(PictureStream, HoldsNoMoreThanItMay) {
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> most{0};
  std::uint64_t returned = 0;
  PictureStream stream(300, 8, 1000, [&](std::uint64_t index, const Before& before) {
    // One that is larger than all waits until it is alone.
    const std::uint64_t bytes = index == 100 ? 5000 : 300;
    before(bytes);
    const std::uint64_t now = taken += bytes;
    std::uint64_t seen = most;
    while (now > seen && index < 100 && !most.compare_exchange_weak(seen, now)) {
    }
    return picture_of(index);
  });
  for (int i = 0; i < 300; ++i) {
    taken -= std::exchange(returned, i == 100 ? 5000 : 300);
    stream.next();
  }
  // Memory of a picture that next() has returned is counted here until the call after it.
  EXPECT_LE(most, 1300U);
}

TEST(PictureStream, ErrorsComeInTheirPlace) {
  PictureStream stream(50, 4, 100, [](std::uint64_t index, const Before&) {
    if (index == 20) throw std::runtime_error("20");
    return picture_of(index);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(stream.next().bytes, std::to_string(i));
  EXPECT_THROW(stream.next(), std::runtime_error);
}

TEST(PictureStream, EndsBeforeAllIsRead) {
  PictureStream stream(1'000'000, 4, 100, [](std::uint64_t index, const Before& before) {
    before(60);
    return picture_of(index);
  });
  EXPECT_EQ(stream.next().bytes, "0");
}

TEST(PictureStream, NeedsNoThread) {
  PictureStream stream(400, 0, 100, [](std::uint64_t index, const Before& before) {
    before(200);
    return picture_of(index);
  });
  for (int i = 0; i < 400; ++i) EXPECT_EQ(stream.next().bytes, std::to_string(i));
}

}  // namespace
}  // namespace tandem::data
