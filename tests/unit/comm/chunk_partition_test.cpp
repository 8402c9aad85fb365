#include "allreduce/chunk_partition.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tandem::comm {
namespace {

TEST(ChunkPartition, FollowEachOtherInWholeLines) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 1000U, 1U << 20, 6573121U}) {
    for (const int ranks : {1, 2, 3, 64}) {
      SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(ranks));
      const ChunkPartition chunks(count, ranks);
      std::size_t all = 0;
      for (int part = 0; part < ranks; ++part) {
        EXPECT_EQ(chunks.first(part), all);
        EXPECT_LE(chunks.size(part), chunks.max_size());
        all += chunks.size(part);
        EXPECT_TRUE(all == count || all % 16 == 0) << "two ranks would write one line";
      }
      EXPECT_EQ(all, count);
      EXPECT_LT(chunks.max_size(), count / static_cast<std::size_t>(ranks) + 32);
    }
  }
}

}  // namespace
}  // namespace tandem::comm
