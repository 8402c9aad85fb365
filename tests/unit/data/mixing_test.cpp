#include "data/augment/mixing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/augment/policies.hpp"
#include "tandem/data/batch_loader.hpp"

namespace tandem::data {
namespace {

constexpr ImageShape kMixedShape{3, 6, 5};
constexpr std::uint32_t kPictures = 53;  // a short last batch
constexpr std::uint64_t kBatch = 20;     // groups of 10; the last batch has one of 13
constexpr std::uint64_t kSteps = 6;      // two epochs

struct Pictures {
  std::vector<std::uint8_t> pixels = std::vector<std::uint8_t>(kPictures * kMixedShape.pixels());
  std::vector<Label> labels = std::vector<Label>(kPictures);
  Pictures() {
    CounterRandom random{3};
    for (std::uint8_t& each : pixels) each = static_cast<std::uint8_t>(random.below(256));
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<Label>(i);
  }
  ImagesView view() const {
    return {kMixedShape, {pixels.data(), pixels.size()}, {labels.data(), labels.size()}};
  }
};

Transform transform(Layout layout = Layout::kChannelsLast) {
  return Transform(kMixedShape, layout, {0.4, 0.5, 0.6}, {0.2, 0.3, 0.25});
}

TrainingPlan plan_of(std::uint64_t virtual_ranks, std::uint64_t accumulate = 1) {
  TrainingPlan plan;
  plan.image_count = kPictures;
  plan.global_batch = kBatch;
  plan.accumulate = accumulate;
  plan.virtual_ranks = virtual_ranks;
  plan.mixes = true;
  plan.seed = 11;
  plan.steps = kSteps;
  return plan;
}

// An image of an epoch as a network sees it.
struct Seen {
  std::vector<float> pixels;
  std::int64_t label;
  std::int64_t other_label;
  float other_share;
  bool operator==(const Seen& other) const {
    return pixels == other.pixels && label == other.label && other_label == other.other_label &&
           other_share == other.other_share;
  }
};
using SeenImages = std::map<std::pair<std::uint64_t, std::uint32_t>, Seen>;

SeenImages seen_by(int world, const TrainingPlan& plan, const AugmentKey& augment) {
  const Pictures pictures;
  SeenImages seen;
  for (int rank = 0; rank < world; ++rank) {
    TrainingSampler sampler(plan, rank, world);
    while (auto request = sampler.next()) {
      const Batch batch = make_batch(pictures.view(), transform(), augment, std::move(*request));
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const float* first = batch.images.get() + i * kMixedShape.pixels();
        seen[{batch.request.epoch, batch.request.images[i]}] = {
            {first, first + kMixedShape.pixels()},
            batch.labels[i],
            batch.other_labels[i],
            batch.other_shares[i]};
      }
    }
  }
  return seen;
}

TEST(Mixing, IsTheSameAtAnyNumberOfRanksShardsAndMicroBatches) {
  const AugmentKey augment{AugmentSpec::parse("resized-crop,flip,random-erasing,mixup=0.4,cutmix"),
                           5};
  const SeenImages expected = seen_by(1, plan_of(0), augment);
  EXPECT_EQ(expected.size(), 2 * kPictures);
  for (const int world : {2, 3, 4, 7}) EXPECT_EQ(seen_by(world, plan_of(0), augment), expected);
  for (const int world : {1, 2, 4}) EXPECT_EQ(seen_by(world, plan_of(4), augment), expected);
  EXPECT_EQ(seen_by(2, plan_of(0, 3), augment), expected);
}

// Labels are the images' numbers here, so they tell which images were mixed.
TEST(Mixing, PairsEachImageWithTheOneBeforeItInItsGroup) {
  const AugmentKey plain{AugmentSpec::parse("flip"), 5};
  const AugmentKey augment{AugmentSpec::parse("flip,mixup=0.4"), 5};
  const Pictures pictures;
  TrainingSampler sampler(plan_of(0), 0, 1);
  std::map<float, int> groups;  // their size, by share
  while (const auto request = sampler.next()) {
    const Batch batch = make_batch(pictures.view(), transform(), augment, *request);
    const Batch unmixed = make_batch(pictures.view(), transform(), plain, *request);
    std::size_t first = 0;
    for (const MixRun& run : request->mix_runs) {
      const Mix mix = draw_mix(augment.spec, kMixedShape, augment.seed, request->epoch, run.group);
      EXPECT_EQ(run.group, request->images[first]);
      for (std::size_t i = 0; i < run.count; ++i) {
        const std::size_t place = first + i;
        const std::size_t before = first + (i + run.count - 1) % run.count;
        const std::int64_t own = request->images[place];
        const std::int64_t partner = request->images[before];
        const bool is_own_heavier = mix.own >= 0.5F;
        EXPECT_EQ(batch.labels[place], is_own_heavier ? own : partner);
        EXPECT_EQ(batch.other_labels[place], is_own_heavier ? partner : own);
        EXPECT_EQ(batch.other_shares[place], is_own_heavier ? 1 - mix.own : mix.own);
        for (std::size_t at = 0; at < kMixedShape.pixels(); ++at) {
          const auto pixel = [at](const Batch& of, std::size_t image) {
            return of.images[image * kMixedShape.pixels() + at];
          };
          ASSERT_EQ(pixel(batch, place),
                    pixel(unmixed, place) * mix.own + pixel(unmixed, before) * (1 - mix.own));
        }
      }
      first += run.count;
      groups[mix.own] += static_cast<int>(run.count);
    }
    EXPECT_EQ(first, request->images.size());
  }
  EXPECT_EQ(groups.size(), 10U);  // each has a share of its own
  for (const auto& [share, count] : groups) EXPECT_TRUE(count == 10 || count == 13) << share;
}

TEST(Mixing, LeavesAnImageWithoutPartnerAsItIs) {
  const Pictures pictures;
  BatchRequest request;
  request.images = {7};
  request.mix_runs = {{1, 7, 7}};
  const AugmentKey augment{AugmentSpec::parse("mixup"), 5};
  const Batch mixed = make_batch(pictures.view(), transform(), augment, request);
  const Batch plain = make_batch(pictures.view(), transform(), {}, request);
  EXPECT_EQ(mixed.labels[0], 7);
  EXPECT_EQ(mixed.other_labels[0], 7);
  for (std::size_t i = 0; i < kMixedShape.pixels(); ++i) {
    EXPECT_NEAR(mixed.images[i], plain.images[i], 1e-6);
  }
  EXPECT_TRUE(plain.other_labels.empty());
}

TEST(SliceWith, IsTheSliceThatHoldsAPlace) {
  for (const std::uint64_t slices : {1U, 2U, 3U, 7U}) {
    for (std::uint64_t index = 0; index < slices; ++index) {
      const Slice slice = slice_of(23, index, slices);
      for (std::uint64_t place = slice.first; place < slice.first + slice.count; ++place) {
        EXPECT_EQ(slice_with(23, place, slices).first, slice.first);
        EXPECT_EQ(slice_with(23, place, slices).count, slice.count);
      }
    }
  }
}

TEST(DrawBeta, HasTheMomentsOfTheDistribution) {
  for (const double alpha : {0.05, 0.2, 1.0, 2.5}) {
    constexpr int kDraws = 100000;
    double sum = 0, squares = 0;
    int below = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      CounterRandom random{9, i};
      const double drawn = draw_beta(alpha, random);
      ASSERT_TRUE(drawn >= 0 && drawn <= 1) << drawn;
      sum += drawn - 0.5;
      squares += (drawn - 0.5) * (drawn - 0.5);
      below += drawn < 0.25;
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    const double error = 5 / std::sqrt(kDraws);
    EXPECT_NEAR(sum / kDraws, 0, error * std::sqrt(variance)) << alpha;
    EXPECT_NEAR(squares / kDraws, variance, error * variance * 1.5) << alpha;
    const double sure = alpha == 1 ? kDraws / 4.0 : below;  // of the uniform distribution
    EXPECT_NEAR(below, sure, error * kDraws * 0.45);
  }
}

TEST(DrawMix, DrawsOneOfBothForEachGroup) {
  const AugmentSpec spec = AugmentSpec::parse("mixup,cutmix");
  int pastes = 0;
  for (std::uint32_t group = 0; group < 2000; ++group) {
    const Mix mix = draw_mix(spec, kMixedShape, 1, 2, group);
    pastes += mix.pastes;
    EXPECT_EQ(mix.own, draw_mix(spec, kMixedShape, 1, 2, group).own);
  }
  EXPECT_NEAR(pastes, 1000, 115);  // five standard deviations
  EXPECT_FALSE(draw_mix(AugmentSpec::parse("mixup"), kMixedShape, 1, 2, 3).pastes);
  EXPECT_TRUE(draw_mix(AugmentSpec::parse("cutmix"), kMixedShape, 1, 2, 3).pastes);
}

TEST(DrawJitter, DrawsFactorsInARandomOrder) {
  const AugmentSpec spec = AugmentSpec::parse("color-jitter=0.4,1.5,0.2,0.1");
  std::map<PictureOpKind, double> least, most;
  int brightness_first = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    CounterRandom random{4, i};
    const auto ops = draw_jitter(*spec.color_jitter, random);
    ASSERT_EQ(ops.size(), 4U);
    brightness_first += ops[0].kind == PictureOpKind::kBrightness;
    for (const PictureOp& op : ops) {
      least[op.kind] = std::min(least.emplace(op.kind, op.amount).first->second, op.amount);
      most[op.kind] = std::max(most.emplace(op.kind, op.amount).first->second, op.amount);
    }
  }
  EXPECT_NEAR(brightness_first, 1000, 140);  // five standard deviations
  const auto expect_range = [&](PictureOpKind kind, double lowest, double highest) {
    EXPECT_GE(least[kind], lowest);
    EXPECT_LE(most[kind], highest);
    EXPECT_NEAR(least[kind], lowest, 0.01 * (highest - lowest));
    EXPECT_NEAR(most[kind], highest, 0.01 * (highest - lowest));
  };
  expect_range(PictureOpKind::kBrightness, 0.6, 1.4);
  expect_range(PictureOpKind::kContrast, 0, 2.5);
  expect_range(PictureOpKind::kSaturation, 0.8, 1.2);
  expect_range(PictureOpKind::kHue, -0.1, 0.1);
  CounterRandom random{4};
  EXPECT_EQ(draw_jitter(*AugmentSpec::parse("color-jitter=0,0.3").color_jitter, random).size(), 1U);
}

TEST(DrawPolicy, DrawsEachOperationAlikeOften) {
  for (const char* name : {"rand-augment=3,9", "trivial-augment"}) {
    const AugmentSpec spec = AugmentSpec::parse(name);
    std::map<PictureOpKind, int> counts;
    int ops = 0;
    int negative = 0;
    for (std::uint64_t i = 0; i < 14000; ++i) {
      CounterRandom random{6, i};
      for (const PictureOp& op : draw_policy(spec, kMixedShape, random)) {
        ++counts[op.kind];
        ++ops;
        negative += op.kind == PictureOpKind::kRotate && op.amount < 0;
      }
    }
    const double each = 1000.0 * (spec.rand_augment ? 3 : 1);
    EXPECT_EQ(counts.size(), 13U) << name;  // and one that is none
    EXPECT_NEAR(ops, 13 * each, 5 * std::sqrt(each)) << name;
    for (const auto& [kind, count] : counts) EXPECT_NEAR(count, each, 5 * std::sqrt(each)) << name;
    EXPECT_NEAR(negative, each / 2, 5 * std::sqrt(each) / 1.4) << name;
  }
}

}  // namespace
}  // namespace tandem::data
