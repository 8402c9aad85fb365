#include "train/optimizers/arena_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tandem/model/registry.hpp"
#include "train/optimizers/optimizer_loops.hpp"

namespace tandem::train {
namespace {

class ArenaParts : public ::testing::Test {
 protected:
  const model::NetworkPtr network_ = model::make_network("resnet9", {3, 32, 32}, 10);
  const ParameterArena arena_{*network_, true};
};

TEST_F(ArenaParts, OfAllRanksCoverTheArenaOnceInEqualShares) {
  const auto floats = static_cast<std::size_t>(arena_.flat_values().numel());
  for (const std::size_t ranks : {1, 2, 3, 64}) {
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::size_t of_rank = 0;
      for (const ArenaPart& part : equal_parts_of(arena_, rank, ranks)) {
        ASSERT_EQ(part.first, next);
        next += part.count;
        of_rank += part.count;
        const ParameterArena::Slot& slot = arena_.slots()[part.slot];
        EXPECT_GE(part.first, slot.offset);
        EXPECT_LE(part.first + part.count, slot.offset + slot.count + ParameterArena::kAlignment);
      }
      EXPECT_NEAR(static_cast<double>(of_rank), static_cast<double>(floats / ranks), 1025);
      EXPECT_TRUE(rank + 1 == ranks || next % 1024 == 0) << "two ranks write to one page";
    }
    EXPECT_EQ(next, floats);
  }
}

TEST_F(ArenaParts, OfMuonAreWholeParametersOfAboutEqualWork) {
  const std::vector<MuonPiece> pieces = muon_pieces_of(arena_, {});
  for (const std::size_t ranks : {1, 2, 3}) {
    std::multiset<std::size_t> all;
    std::vector<std::size_t> matrices;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::size_t> mine = muon_slots_of(pieces, rank, ranks);
      all.insert(mine.begin(), mine.end());
      matrices.push_back(
          static_cast<std::size_t>(std::count_if(mine.begin(), mine.end(), [&](std::size_t slot) {
            return pieces[slot].kind == MuonPiece::Kind::kMatrix;
          })));
    }
    EXPECT_EQ(all.size(), pieces.size());
    EXPECT_EQ(std::set<std::size_t>(all.begin(), all.end()).size(), pieces.size());
    EXPECT_GT(*std::min_element(matrices.begin(), matrices.end()), 0U);
  }
}

TEST_F(ArenaParts, MoreRanksThanParametersLeaveSomeWithoutAny) {
  const std::vector<MuonPiece> pieces = muon_pieces_of(arena_, {});
  EXPECT_TRUE(muon_slots_of(pieces, pieces.size(), pieces.size() + 1).empty());
}

TEST(Checksum, ChangesWithAnyBit) {
  for (const std::size_t size : {1, 31, 32, 1000}) {
    std::vector<float> values(size, 0.5F);
    std::set<std::uint64_t> seen{checksum(values)};
    for (std::size_t i = 0; i < size; ++i) {
      for (const float change : {1e-7F, -0.25F, -1.0F}) {
        values[i] += change;
        seen.insert(checksum(values));
        values[i] = 0.5F;
      }
    }
    EXPECT_EQ(seen.size(), 1 + 3 * size);
  }
}

TEST(Checksum, ChangesIfValuesChangePlaces) {
  std::vector<float> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::uint64_t before = checksum(values);
  std::swap(values[3], values[3 + 32]);
  EXPECT_NE(checksum(values), before);
  std::swap(values[3], values[3 + 32]);
  std::swap(values[3], values[4]);
  EXPECT_NE(checksum(values), before);
  EXPECT_NE(checksum({values.data(), 99}), checksum({values.data(), 98}));
}

}  // namespace
}  // namespace tandem::train
