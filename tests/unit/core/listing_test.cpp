#include "tandem/core/listing.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

std::vector<int> every(int step, int end) {
  std::vector<int> ranks;
  for (int rank = 0; rank < end; rank += step) ranks.push_back(rank);
  return ranks;
}

TEST(Listing, NamesRanksAsRanges) {
  EXPECT_EQ(name_ranks({2}), "rank 2");
  EXPECT_EQ(name_ranks({0, 1}), "ranks 0-1");
  EXPECT_EQ(name_ranks({0, 1, 2, 3, 6}), "ranks 0-3, 6");
  EXPECT_EQ(name_ranks(every(1, 1024)), "ranks 0-1023");
}

TEST(Listing, EndsAfterEightParts) {
  EXPECT_EQ(name_ranks(every(2, 16)), "ranks 0, 2, 4, 6, 8, 10, 12, 14");
  EXPECT_EQ(name_ranks(every(2, 1024)), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 504 more");
  EXPECT_EQ(list_some({"a", "b", "c", "d", "e", "f", "g", "h"}), "a, b, c, d, e, f, g, h");
  EXPECT_EQ(list_some({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}),
            "a, b, c, d, e, f, g, h and 2 more");
  EXPECT_EQ(list_some({}), "");
}

}  // namespace
}  // namespace tandem
