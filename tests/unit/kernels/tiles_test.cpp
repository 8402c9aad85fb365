#include "kernels/tiles.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tandem/core/random.hpp"
#include "tandem/kernels/bfloat16.hpp"

namespace tandem::kernels {
namespace {

struct alignas(64) Block {
  std::uint16_t bits[kTileSize] = {};
  std::vector<std::uint16_t> values() const { return {bits, bits + kTileSize}; }
};

// Each kind that this processor has, beside the portable one.
class Tiles : public ::testing::TestWithParam<const TileFunctions*> {
 protected:
  const TileFunctions& tiles_ = *GetParam();
  const TileFunctions& portable_ = portable_tiles();
};

TEST_P(Tiles, BlocksArePackedAlike) {
  std::vector<std::uint16_t> numbers(40 * 50);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint16_t>(i + 1);
  for (const TileSource& from :
       {TileSource{numbers.data(), 50, 32, 32}, TileSource{numbers.data() + 3, 50, 17, 29},
        TileSource{numbers.data() + 7, 41, 1, 1}}) {
    for (auto pack :
         {&TileFunctions::pack_left, &TileFunctions::pack_right,
          &TileFunctions::pack_transposed_left, &TileFunctions::pack_transposed_right}) {
      Block found, expected;
      (tiles_.*pack)(from, found.bits);
      (portable_.*pack)(from, expected.bits);
      EXPECT_EQ(found.values(), expected.values());
    }
  }
}

TEST_P(Tiles, NumbersAreRoundedAlike) {
  alignas(64) float numbers[kTileSize];
  CounterRandom random{1, 1};
  for (float& each : numbers) each = static_cast<float>(random.uniform() - 0.5);
  numbers[0] = std::numeric_limits<float>::quiet_NaN();
  numbers[1] = std::numeric_limits<float>::infinity();
  numbers[2] = -std::numeric_limits<float>::max();
  numbers[3] = std::numeric_limits<float>::denorm_min() * 70000;
  numbers[4] = 1 + 1.0F / 256;  // a tie, to the even one below
  numbers[5] = 1 + 3.0F / 256;  // a tie, to the even one above
  std::vector<std::uint16_t> found(32 * 40), expected(32 * 40);
  tiles_.round(numbers, kTileSide, {found.data(), 40, 31, 23});
  portable_.round(numbers, kTileSide, {expected.data(), 40, 31, 23});
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found[4], bfloat16_of_float(1));
  // Lines farther apart, which begin anywhere.
  tiles_.round(numbers + 3, 47, {found.data(), 40, 20, 32});
  portable_.round(numbers + 3, 47, {expected.data(), 40, 20, 32});
  EXPECT_EQ(found, expected);
}

// Of what the portable tiles do, by its definition: with both kinds of packing a product is the
// same.
TEST_P(Tiles, SumsAreThoseOfProductsOfMatrices) {
  CounterRandom random{2, 1};
  std::vector<float> left(5 * 7), right(7 * 9);
  std::vector<std::uint16_t> left_bits, right_bits, left_columns(7 * 5), right_columns(9 * 7);
  for (float& each : left) each = static_cast<float>(static_cast<int>(random.uniform() * 9));
  for (float& each : right) each = static_cast<float>(static_cast<int>(random.uniform() * 9));
  for (float each : left) left_bits.push_back(bfloat16_of_float(each));
  for (float each : right) right_bits.push_back(bfloat16_of_float(each));
  for (std::size_t i = 0; i < left.size(); ++i) left_columns[i % 7 * 5 + i / 7] = left_bits[i];
  for (std::size_t i = 0; i < right.size(); ++i) right_columns[i % 9 * 7 + i / 9] = right_bits[i];
  Block blocks[4];
  tiles_.pack_left({left_bits.data(), 7, 5, 7}, blocks[0].bits);
  tiles_.pack_right({right_bits.data(), 9, 7, 9}, blocks[1].bits);
  tiles_.pack_transposed_left({left_columns.data(), 5, 7, 5}, blocks[2].bits);
  tiles_.pack_transposed_right({right_columns.data(), 7, 9, 7}, blocks[3].bits);
  const TileProduct products[] = {{blocks[0].bits, blocks[1].bits},
                                  {blocks[2].bits, blocks[3].bits}};
  alignas(64) float sums[kTileSize];
  const TileScope scope(tiles_);
  tiles_.multiply(products, 1, nullptr, sums);
  tiles_.multiply(products + 1, 1, sums, sums);
  for (std::size_t row = 0; row < kTileSide; ++row) {
    for (std::size_t column = 0; column < kTileSide; ++column) {
      float expected = 0;
      if (row < 5 && column < 9) {
        for (std::size_t k = 0; k < 7; ++k)
          expected += 2 * left[row * 7 + k] * right[k * 9 + column];
      }
      ASSERT_EQ(sums[row * kTileSide + column], expected) << row << ", " << column;
    }
  }
}

// As oneDNN's may be, which takes it that its own still stands.
TEST_P(Tiles, AnothersTilesAreConfiguredAgain) {
  const TileScope of_another(tiles_);
  Block left, right;
  left.bits[0] = right.bits[0] = bfloat16_of_float(3);
  const TileProduct product{left.bits, right.bits};
  { const TileScope ours(tiles_); }
  alignas(64) float sums[kTileSize];
  tiles_.multiply(&product, 1, nullptr, sums);  // without tiles this ends the program
  EXPECT_EQ(sums[0], 9);
}

std::vector<const TileFunctions*> kinds() {
  return amx_tiles() ? std::vector{&portable_tiles(), amx_tiles()} : std::vector{&portable_tiles()};
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tiles, ::testing::ValuesIn(kinds()), [](const auto& of) {
  return of.param == &portable_tiles() ? "Portable" : "Amx";
});

}  // namespace
}  // namespace tandem::kernels
