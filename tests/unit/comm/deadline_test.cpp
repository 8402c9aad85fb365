#include "tandem/comm/deadline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tandem::comm {
namespace {

TEST(Deadline, SpeaksOnceItIsMissed) {
  std::atomic<int> late{0};
  const Deadline deadline(0.01, [&] { ++late; });
  while (late == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(late, 1);
}

TEST(Deadline, IsSilentWhereItIsMetOrThereIsNone) {
  std::atomic<int> late{0};
  {
    const Deadline met(60, [&] { ++late; });
  }
  {
    const Deadline never(0, [&] { ++late; });
  }
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace tandem::comm
