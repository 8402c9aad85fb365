#include "tandem/train/top_losses.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/lone_communicator.hpp"

namespace tandem::train {
namespace {

std::vector<std::uint64_t> images_of(const std::vector<ImageLoss>& losses) {
  std::vector<std::uint64_t> images;
  for (const ImageLoss& loss : losses) images.push_back(loss.image);
  return images;
}

TEST(TopLosses, AreTheHighestLossesInWhateverOrderTheyCome) {
  const std::vector<ImageLoss> losses{{0, 1, 0.5}, {1, 2, 3.0}, {2, 3, NAN},
                                      {3, 4, 3.0}, {4, 5, 1.0}, {5, 6, INFINITY}};
  testing::LoneCommunicator alone;
  for (std::size_t first = 0; first < losses.size(); ++first) {
    TopLosses worst(4);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      worst.add(losses[(first + 5 * i) % losses.size()]);
    }
    const auto found = worst.gather(alone);
    EXPECT_EQ(images_of(found), (std::vector<std::uint64_t>{2, 5, 1, 3})) << first;
    EXPECT_EQ(found[2].predicted, 2);
    EXPECT_EQ(found[2].loss, 3.0);
    EXPECT_TRUE(std::isnan(found[0].loss));
  }
}

TEST(TopLosses, MayBeFewerThanAskedForOrNone) {
  testing::LoneCommunicator alone;
  TopLosses worst(3);
  EXPECT_TRUE(worst.gather(alone).empty());
  worst.add({0, 0, 0.0});
  EXPECT_EQ(images_of(worst.gather(alone)), std::vector<std::uint64_t>{0}) << "image 0 is one, too";
  TopLosses none(0);
  none.add({1, 1, 1.0});
  EXPECT_FALSE(none.is_wanted());
  EXPECT_TRUE(none.gather(alone).empty());
}

}  // namespace
}  // namespace tandem::train
