#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "data/pixel_sources/image_source.hpp"
#include "data_fixtures.hpp"
#include "tandem/core/digest.hpp"

namespace tandem::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes images_of(const ImageSource& source, Split split, std::uint64_t first, std::uint64_t count) {
  Bytes images(count * source.info().shape.pixels());
  std::vector<Label> labels(count);
  source.read(split, first, count, images.data(), labels.data());
  return images;
}

TEST(Synthetic, CountsAndClasses) {
  const auto source = make_synthetic(1000, 1);
  EXPECT_EQ(source->info().name, "synthetic");
  EXPECT_EQ(source->info().shape, (ImageShape{3, 32, 32}));
  EXPECT_EQ(source->info().train_count, 1000U);
  EXPECT_EQ(source->info().test_count, 200U);
  EXPECT_EQ(make_synthetic(10, 1)->info().test_count, 64U);
  Bytes images(20 * 3072);
  std::vector<Label> labels(20);
  source->read(Split::kTrain, 5, 20, images.data(), labels.data());
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(labels[i], (i + 5) % 10);
}

TEST(Synthetic, ImageDependsOnSeedSplitAndIndexOnly) {
  const auto source = make_synthetic(100, 7);
  const Bytes together = images_of(*source, Split::kTrain, 0, 20);
  const Bytes apart = images_of(*make_synthetic(5000, 7), Split::kTrain, 13, 1);
  EXPECT_TRUE(std::equal(apart.begin(), apart.end(), together.begin() + 13 * 3072));
  EXPECT_NE(images_of(*source, Split::kTest, 0, 20), together);
  EXPECT_NE(images_of(*make_synthetic(100, 8), Split::kTrain, 0, 20), together);
}

// The same bits on every machine and at every level of optimisation; a deliberate change of the
// drawing changes this digest and the version in source_sha256.
TEST(Synthetic, BitsAreFixed) {
  const Bytes images = images_of(*make_synthetic(500, 0), Split::kTrain, 0, 500);
  EXPECT_EQ(sha256_hex({reinterpret_cast<const char*>(images.data()), images.size()}),
            "40880c70764c1adb6ad9bd25d3239fcf5a601565430fbf827c86aa7edde4815a");
}

TEST(Synthetic, SourceDigestNamesTheParameters) {
  EXPECT_EQ(make_synthetic(50, 1)->source_sha256(), make_synthetic(50, 1)->source_sha256());
  EXPECT_NE(make_synthetic(50, 1)->source_sha256(), make_synthetic(50, 2)->source_sha256());
  EXPECT_NE(make_synthetic(50, 1)->source_sha256(), make_synthetic(51, 1)->source_sha256());
}

TEST(Synthetic, ImpossibleCountsAreUsageErrors) {
  testing::expect_error(ExitCode::kUsage, {"--images", "0 images"}, [] { make_synthetic(0, 0); });
  testing::expect_error(ExitCode::kUsage, {"--images"}, [] { make_synthetic(10'000'001, 0); });
}

// Every figure covers a fair part of its square, no two the same.
TEST(Shapes, AreDistinct) {
  std::vector<std::string> masks;
  for (std::size_t shape = 0; shape < kShapeNames.size(); ++shape) {
    std::string mask;
    for (int row = 0; row < 20; ++row) {
      for (int column = 0; column < 20; ++column) {
        const float x = (static_cast<float>(column) - 9.5F) / 9;
        const float y = (static_cast<float>(row) - 9.5F) / 9;
        mask += shape_contains(static_cast<int>(shape), x, y) ? '#' : '.';
      }
    }
    const auto covered = std::count(mask.begin(), mask.end(), '#');
    EXPECT_GT(covered, 70) << kShapeNames[shape];
    EXPECT_LT(covered, 290) << kShapeNames[shape];
    for (std::size_t other = 0; other < masks.size(); ++other) {
      int differing = 0;
      for (std::size_t i = 0; i < mask.size(); ++i) differing += mask[i] != masks[other][i];
      EXPECT_GT(differing, 30) << kShapeNames[shape] << " and " << kShapeNames[other];
    }
    masks.push_back(mask);
  }
}

}  // namespace
}  // namespace tandem::data
