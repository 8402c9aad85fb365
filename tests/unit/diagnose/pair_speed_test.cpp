#include "diagnose/pair_speed.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace tandem::app {
namespace {

TEST(PairSpeed, EverybodyMeetsEverybodyOnce) {
  for (int size = 2; size <= 9; ++size) {
    std::set<std::pair<int, int>> met;
    for (int round = 0; round < rounds_of(size); ++round) {
      for (int place = 0; place < size; ++place) {
        const int partner = partner_of(place, size, round);
        if (partner < 0) continue;
        ASSERT_NE(partner, place);
        ASSERT_LT(partner, size);
        EXPECT_EQ(partner_of(partner, size, round), place)
            << "of " << size << " in round " << round;
        if (place < partner) {
          EXPECT_TRUE(met.emplace(place, partner).second);
        }
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(size * (size - 1) / 2)) << size;
  }
}

TEST(PairSpeed, AnEvenNumberRestsNever) {
  for (int round = 0; round < rounds_of(6); ++round) {
    for (int place = 0; place < 6; ++place) EXPECT_GE(partner_of(place, 6, round), 0);
  }
}

}  // namespace
}  // namespace tandem::app
