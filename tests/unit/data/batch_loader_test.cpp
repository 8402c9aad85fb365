#include "tandem/data/batch_loader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

constexpr ImageShape kBatchShape{1, 4, 4};

struct Images {
  std::vector<std::uint8_t> pixels;
  std::vector<Label> labels;
  explicit Images(std::size_t count) : pixels(count * kBatchShape.pixels()), labels(count) {
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7);
    for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<Label>(i % 10);
  }
  ImagesView view() const {
    return {kBatchShape, {pixels.data(), pixels.size()}, {labels.data(), labels.size()}};
  }
};

Transform transform() { return Transform(kBatchShape, Layout::kChannelsLast, {0.5}, {0.25}); }

TrainingPlan plan_of(std::uint32_t images, std::uint64_t steps) {
  TrainingPlan plan;
  plan.image_count = images;
  plan.global_batch = 8;
  plan.steps = steps;
  return plan;
}

TEST(BatchLoader, GivesTheBatchesOfItsSamplerInOrder) {
  const Images images(50);
  const AugmentKey augment{AugmentSpec::parse("standard"), 3};
  BatchLoader loader(images.view(), transform(), augment,
                     std::make_unique<TrainingSampler>(plan_of(50, 20), 0, 1));
  TrainingSampler sampler(plan_of(50, 20), 0, 1);
  std::size_t batches = 0;
  while (const auto batch = loader.next()) {
    const Batch expected = make_batch(images.view(), transform(), augment, *sampler.next());
    EXPECT_EQ(batch->request.step, batches);
    EXPECT_EQ(batch->request.images, expected.request.images);
    EXPECT_EQ(batch->labels, expected.labels);
    EXPECT_TRUE(std::equal(batch->images.get(),
                           batch->images.get() + batch->size() * kBatchShape.pixels(),
                           expected.images.get()));
    ++batches;
  }
  EXPECT_EQ(batches, 20U);
  EXPECT_FALSE(loader.next().has_value());
}

TEST(BatchLoader, PixelsOfAnImageDoNotDependOnTheNumberOfRanks) {
  const Images images(40);
  const AugmentKey augment{AugmentSpec::parse("standard"), 3};
  const auto pixels_by_image = [&](int world) {
    std::vector<std::vector<float>> pixels(40);
    for (int rank = 0; rank < world; ++rank) {
      BatchLoader loader(images.view(), transform(), augment,
                         std::make_unique<TrainingSampler>(plan_of(40, 5), rank, world));
      while (const auto batch = loader.next()) {
        for (std::size_t i = 0; i < batch->size(); ++i) {
          const float* first = batch->images.get() + i * kBatchShape.pixels();
          pixels[batch->request.images[i]].assign(first, first + kBatchShape.pixels());
        }
      }
    }
    return pixels;
  };
  const auto expected = pixels_by_image(1);
  EXPECT_EQ(pixels_by_image(2), expected);
  EXPECT_EQ(pixels_by_image(3), expected);
}

// Fails after some batches, as a file that goes away would.
class FailingSampler final : public Sampler {
 public:
  std::optional<BatchRequest> next() override {
    if (++calls_ > 2) throw std::runtime_error("the disk went away");
    BatchRequest request;
    request.images = {0};
    return request;
  }

 private:
  int calls_ = 0;
};

TEST(BatchLoader, RethrowsAfterTheBatchesThatWereReady) {
  const Images images(1);
  BatchLoader loader(images.view(), transform(), {}, std::make_unique<FailingSampler>());
  EXPECT_TRUE(loader.next().has_value());
  EXPECT_TRUE(loader.next().has_value());
  EXPECT_THROW(loader.next(), std::runtime_error);
}

TEST(BatchLoader, RefusesAnImageThatIsNotThere) {
  const Images images(10);
  BatchLoader loader(images.view(), transform(), {},
                     std::make_unique<TrainingSampler>(plan_of(11, 2), 0, 1));
  EXPECT_THROW(while (loader.next()){}, InternalError);
}

TEST(BatchLoader, MayBeDestroyedAtAnyTime) {
  const Images images(50);
  for (std::size_t taken = 0; taken < 8; ++taken) {
    BatchLoader loader(images.view(), transform(), {},
                       std::make_unique<TrainingSampler>(plan_of(50, 1000), 0, 1));
    for (std::size_t i = 0; i < taken; ++i) ASSERT_TRUE(loader.next().has_value());
  }
}

TEST(BatchLoader, GivesEmptyBatchesToARankWithoutImages) {
  const Images images(2);
  BatchLoader loader(images.view(), transform(), {},
                     std::make_unique<TrainingSampler>(plan_of(2, 3), 2, 3));
  std::size_t batches = 0;
  while (const auto batch = loader.next()) {
    EXPECT_EQ(batch->size(), 0U);
    EXPECT_EQ(batch->request.global_count, 2U);
    ++batches;
  }
  EXPECT_EQ(batches, 3U);
}

}  // namespace
}  // namespace tandem::data
