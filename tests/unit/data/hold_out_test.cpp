#include "tandem/data/hold_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "data_fixtures.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;

constexpr std::size_t kPixels = 3;

// Sorted by class, as a packed folder is. An image's pixels say its place and its label.
struct Set {
  explicit Set(std::size_t count = 200) {
    for (std::size_t i = 0; i < count; ++i) {
      labels.push_back(static_cast<Label>(10 * i / count));
      images.insert(images.end(),
                    {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(labels.back()), 7});
    }
  }
  std::uint64_t hold(double share) {
    return hold_out(share, kPixels, Span<std::uint8_t>(images), Span<Label>(labels), "x.h5");
  }
  std::vector<int> places(std::size_t first, std::size_t last) const {
    std::vector<int> all;
    for (std::size_t i = first; i < last; ++i) all.push_back(images[i * kPixels]);
    return all;
  }
  std::vector<std::uint8_t> images;
  std::vector<Label> labels;
};

TEST(HoldOut, MovesAShareOfEachClassBehindTheRest) {
  Set set;
  ASSERT_EQ(set.hold(0.1), 20U);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(set.images[i * kPixels + 1], set.labels[i]) << "an image keeps its label";
    EXPECT_EQ(set.images[i * kPixels + 2], 7);
  }
  for (Label label = 0; label < 10; ++label) {
    EXPECT_EQ(std::count(set.labels.begin() + 180, set.labels.end(), label), 2);
  }
  const std::vector<int> kept = set.places(0, 180), held = set.places(180, 200);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
  std::vector<int> all = kept;
  all.insert(all.end(), held.begin(), held.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, Set().places(0, 200)) << "each once";
}

TEST(HoldOut, TellsThatItAdvances) {
  Set set;
  int touches = 0;
  hold_out(0.1, kPixels, Span<std::uint8_t>(set.images), Span<Label>(set.labels), "x.h5",
           [&] { ++touches; });
  EXPECT_EQ(touches, 2) << "once for images and labels, which are few";
}

TEST(HoldOut, IsTheSameEachTimeAndGrowsWithTheShare) {
  Set one, other, larger;
  one.hold(0.1);
  other.hold(0.1);
  EXPECT_EQ(one.images, other.images);
  ASSERT_EQ(larger.hold(0.25), 50U);
  const std::vector<int> few = one.places(180, 200), many = larger.places(150, 200);
  EXPECT_TRUE(std::includes(many.begin(), many.end(), few.begin(), few.end()));
}

TEST(HoldOut, NeedsAClassOfTwoImages) {
  Set set(10);
  expect_error(ExitCode::kUsage, {"--validation-split", "x.h5", "0.5"}, [&] { set.hold(0.5); });
}

}  // namespace
}  // namespace tandem::data
