#include "tandem/train/batch_source.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "train/batches/drawn_augmentation.hpp"

namespace tandem::train {
namespace {

struct Pictures {
  data::ImageShape shape;
  std::vector<std::uint8_t> pixels;
  std::vector<data::Label> labels;

  Pictures(data::ImageShape of, std::size_t count)
      : shape(of), pixels(count * of.pixels()), labels(count) {
    CounterRandom random{5, count};
    for (std::uint8_t& each : pixels) each = static_cast<std::uint8_t>(random.below(256));
    for (data::Label& each : labels) each = static_cast<data::Label>(random.below(10));
  }
  data::ImagesView view() const {
    return {shape, {pixels.data(), pixels.size()}, {labels.data(), labels.size()}};
  }
};

// Two epochs of batches of 7, of which rank 1 of 2 has 3 or 4 and once none.
std::unique_ptr<data::Sampler> sampler() {
  data::TrainingPlan plan;
  plan.image_count = 22;
  plan.global_batch = 7;
  plan.seed = 9;
  plan.steps = 8;
  return std::make_unique<data::TrainingSampler>(plan, 1, 2);
}

PixelMoments moments_of(data::ImageShape shape) {
  if (shape.channels == 1) return {{0.1307}, {0.3081}};
  return {{0.4914, 0.4822, 0.4465}, {0.247, 0.2435, 0.2616}};
}

struct Case {
  const char* name;
  data::ImageShape shape;
  const char* augment;
};

// All pictures may take longer to decode than a watchdog waits.
TEST(ResidentImages, ShowThatTheyAdvance) {
  const Pictures pictures({1, 1, 1}, 10'000);
  int touches = 0;
  const ResidentImages images(pictures.view(), torch::kCPU, data::Decoding::kExact,
                              [&touches] { ++touches; });
  EXPECT_EQ(images.labels.size(0), 10'000);
  EXPECT_EQ(touches, 3) << "of at most 4,096 images";
}

class DeviceForm : public ::testing::TestWithParam<Case> {};

TEST_P(DeviceForm, HasThePixelsOfTheLoaderBitForBit) {
  const auto& [name, shape, augment] = GetParam();
  const Pictures pictures(shape, 22);
  const data::AugmentKey key{data::AugmentSpec::parse(augment), 3};
  const PixelMoments moments = moments_of(shape);
  for (const auto layout : {data::Layout::kChannelsLast, data::Layout::kPlanar}) {
    LoadedBatches loaded(pictures.view(), data::Transform(shape, layout, moments.mean, moments.std),
                         key, sampler());
    ResidentBatches resident(pictures.view(), layout, moments, key, sampler(), torch::kCPU);
    StreamedBatches streamed(pictures.view(), layout, moments, key, sampler(), torch::kCPU);
    const auto format = layout == data::Layout::kPlanar ? at::MemoryFormat::Contiguous
                                                        : at::MemoryFormat::ChannelsLast;
    int batches = 0;
    while (const auto expected = loaded.next()) {
      for (BatchSource* form : std::initializer_list<BatchSource*>{&resident, &streamed}) {
        const auto found = form->next();
        ASSERT_TRUE(found);
        EXPECT_EQ(found->request.images, expected->request.images);
        EXPECT_TRUE(torch::equal(found->images, expected->images)) << name << ", batch " << batches;
        EXPECT_TRUE(torch::equal(found->labels, expected->labels)) << name << ", batch " << batches;
        EXPECT_TRUE(found->images.is_contiguous(format));
      }
      ++batches;
    }
    EXPECT_EQ(batches, 8);
    EXPECT_FALSE(resident.next());
    EXPECT_FALSE(streamed.next());
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceForm,
                         ::testing::Values(Case{"Colour", {3, 32, 32}, "standard"},
                                           Case{"Reflected", {3, 9, 7}, "reflect=5,alternate-flip"},
                                           Case{"Grey", {1, 28, 28}, "none"},
                                           Case{"NotSquare", {3, 5, 9}, "crop=2,flip"},
                                           Case{"ShiftedOutOfSight", {3, 4, 4}, "crop=16"},
                                           Case{"Mirrored", {1, 6, 7}, "flip"}),
                         [](const auto& each) { return each.param.name; });

TEST(DrawTable, RefusesAnImageThatTheDataSetDoesNotHave) {
  data::BatchRequest request;
  request.images = {3, 7};
  EXPECT_EQ(draw_table(request, {}, 8, false).size(0), 2);
  EXPECT_THROW(draw_table(request, {}, 7, false), InternalError);
}

TEST(StreamedBatches, MayEndBeforeTheirLastBatch) {
  const Pictures pictures({1, 8, 8}, 22);
  StreamedBatches batches(pictures.view(), data::Layout::kPlanar, moments_of(pictures.shape), {},
                          sampler(), torch::kCPU);
  EXPECT_TRUE(batches.next());
}

TEST(SentBatches, AreThoseOfTheLoaderWithBothLabels) {
  const data::ImageShape shape{3, 6, 5};
  const Pictures pictures(shape, 22);
  const PixelMoments moments = moments_of(shape);
  const data::AugmentKey key{data::AugmentSpec::parse("resized-crop,mixup"), 3};
  const auto mixing_sampler = [] {
    data::TrainingPlan plan;
    plan.image_count = 22;
    plan.global_batch = 9;
    plan.mixes = true;
    plan.steps = 4;
    return std::make_unique<data::TrainingSampler>(plan, 1, 2);
  };
  const data::Transform transform(shape, data::Layout::kPlanar, moments.mean, moments.std);
  SentBatches sent(pictures.view(), transform, key, mixing_sampler(), torch::kCPU);
  const auto requests = mixing_sampler();
  int batches = 0;
  while (auto request = requests->next()) {
    const data::Batch expected = data::make_batch(pictures.view(), transform, key, *request);
    const auto found = sent.next();
    ASSERT_TRUE(found);
    ASSERT_TRUE(found->is_mixed());
    const auto count = static_cast<std::int64_t>(expected.size());
    EXPECT_EQ(found->request.images, expected.request.images);
    EXPECT_EQ(found->images.sizes(), (std::vector<std::int64_t>{count, 3, 6, 5}));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      EXPECT_EQ(found->labels[i].item<std::int64_t>(), expected.labels[place]);
      EXPECT_EQ(found->other_labels[i].item<std::int64_t>(), expected.other_labels[place]);
      EXPECT_EQ(found->other_shares[i].item<float>(), expected.other_shares[place]);
      EXPECT_LE(expected.other_shares[place], 0.5F);
    }
    EXPECT_EQ(std::memcmp(found->images.data_ptr<float>(), expected.images.get(),
                          expected.size() * shape.pixels() * sizeof(float)),
              0);
    ++batches;
  }
  EXPECT_EQ(batches, 4);
  EXPECT_FALSE(sent.next());
}

TEST(LoadedBatches, ShowsBothLayoutsAsTheSameImages) {
  const Pictures pictures({3, 6, 5}, 22);
  const auto batches = [&](data::Layout layout) {
    const PixelMoments moments = moments_of(pictures.shape);
    return LoadedBatches(pictures.view(),
                         data::Transform(pictures.shape, layout, moments.mean, moments.std), {},
                         sampler())
        .next()
        .value();
  };
  const TensorBatch planar = batches(data::Layout::kPlanar);  // outlives its loader
  const TensorBatch last = batches(data::Layout::kChannelsLast);
  EXPECT_TRUE(planar.images.is_contiguous());
  EXPECT_TRUE(last.images.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(torch::equal(planar.images, last.images));
  EXPECT_TRUE(torch::equal(planar.labels, last.labels));
}

}  // namespace
}  // namespace tandem::train
