#include "tandem/data/augment.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr ImageShape kShape{2, 3, 4};

std::vector<std::uint8_t> counting_image() {
  std::vector<std::uint8_t> image(kShape.pixels());
  std::iota(image.begin(), image.end(), 1);
  return image;
}

// Where one is who walks from 0 and turns round at each end.
int walked(int place, int size) {
  int at = 0;
  int direction = 1;
  for (int i = 0; i < std::abs(place); ++i) {
    if (at + direction < 0 || at + direction >= size) direction = -direction;
    at += direction;
  }
  return at;
}

// Written from the definition in the header, without the speed of the real one.
std::vector<float> reference(const std::vector<std::uint8_t>& image, Augmentation what,
                             Layout layout, const std::vector<double>& mean,
                             const std::vector<double>& std) {
  std::vector<float> out(kShape.pixels());
  for (int c = 0; c < kShape.channels; ++c) {
    for (int y = 0; y < kShape.height; ++y) {
      for (int x = 0; x < kShape.width; ++x) {
        int from_y = y + what.shift_y;
        int from_x = (what.flip ? kShape.width - 1 - x : x) + what.shift_x;
        if (what.border == Border::kReflected) {
          from_y = walked(from_y, kShape.height);
          from_x = walked(from_x, kShape.width);
        }
        const bool inside =
            from_y >= 0 && from_y < kShape.height && from_x >= 0 && from_x < kShape.width;
        const double pixel = inside ? image[static_cast<std::size_t>(
                                          (c * kShape.height + from_y) * kShape.width + from_x)]
                                    : 0;
        const int to = layout == Layout::kPlanar ? (c * kShape.height + y) * kShape.width + x
                                                 : (y * kShape.width + x) * kShape.channels + c;
        const auto channel = static_cast<std::size_t>(c);
        out[static_cast<std::size_t>(to)] =
            static_cast<float>((pixel / 255 - mean[channel]) / std[channel]);
      }
    }
  }
  return out;
}

TEST(Transform, CropsFlipsAndNormalizesInBothLayouts) {
  const std::vector<double> mean{0.4, 0.5};
  const std::vector<double> std{0.2, 0.3};
  const auto image = counting_image();
  for (const Layout layout : {Layout::kPlanar, Layout::kChannelsLast}) {
    const Transform transform(kShape, layout, mean, std);
    // Also by more than the image is wide, as a crop of a small image may be.
    for (int shift_y = -6; shift_y <= 6; ++shift_y) {
      for (int shift_x = -6; shift_x <= 6; ++shift_x) {
        for (const bool flip : {false, true}) {
          for (const Border border : {Border::kBlack, Border::kReflected}) {
            const Augmentation what{shift_y, shift_x, flip, border};
            std::vector<float> out(kShape.pixels());
            transform.apply(image.data(), what, out.data());
            const auto expected = reference(image, what, layout, mean, std);
            for (std::size_t i = 0; i < out.size(); ++i) {
              ASSERT_NEAR(out[i], expected[i], 1e-5)
                  << "shift " << shift_y << "," << shift_x << " flip " << flip << " at " << i
                  << (border == Border::kReflected ? ", reflected" : "");
            }
          }
        }
      }
    }
  }
}

TEST(DrawAugmentation, IsAPureFunctionOfItsKey) {
  const AugmentSpec spec = AugmentSpec::parse("standard");
  std::map<int, int> rows;
  std::map<int, int> columns;
  int flips = 0;
  int changed = 0;
  for (std::uint32_t image = 0; image < 9000; ++image) {
    const Augmentation drawn = draw_augmentation(spec, 1, 2, image);
    const Augmentation again = draw_augmentation(spec, 1, 2, image);
    EXPECT_TRUE(drawn.shift_y == again.shift_y && drawn.shift_x == again.shift_x &&
                drawn.flip == again.flip);
    const Augmentation other_epoch = draw_augmentation(spec, 1, 3, image);
    changed += drawn.shift_y != other_epoch.shift_y || drawn.shift_x != other_epoch.shift_x;
    ++rows[drawn.shift_y];
    ++columns[drawn.shift_x];
    flips += drawn.flip;
  }
  EXPECT_EQ(rows.size(), 9U);
  EXPECT_EQ(columns.size(), 9U);
  EXPECT_EQ(rows.begin()->first, -4);
  // 1,000 of each are expected; the standard deviation is 30.
  for (const auto& [shift, count] : rows) EXPECT_NEAR(count, 1000, 150) << shift;
  EXPECT_NEAR(flips, 4500, 240);
  EXPECT_GT(changed, 8000);
}

TEST(DrawAugmentation, AlternatesFromEpochToEpoch) {
  const AugmentSpec spec = AugmentSpec::parse("alternate-flip");
  int flips = 0;
  for (std::uint32_t image = 0; image < 1000; ++image) {
    const bool first = draw_augmentation(spec, 7, 0, image).flip;
    flips += first;
    for (std::uint64_t epoch = 1; epoch < 5; ++epoch) {
      ASSERT_EQ(draw_augmentation(spec, 7, epoch, image).flip, first != (epoch % 2 == 1));
    }
  }
  EXPECT_NEAR(flips, 500, 80);
}

TEST(AugmentSpec, IsReadFromText) {
  const std::tuple<const char*, int, Border, Flip> texts[] = {
      {"none", 0, Border::kBlack, Flip::kNever},
      {"standard", 4, Border::kBlack, Flip::kRandom},
      {"flip", 0, Border::kBlack, Flip::kRandom},
      {"crop=2", 2, Border::kBlack, Flip::kNever},
      {"crop=2,flip", 2, Border::kBlack, Flip::kRandom},
      {"alternate-flip,reflect=2", 2, Border::kReflected, Flip::kAlternate}};
  for (const auto& [text, shift, border, flip] : texts) {
    const AugmentSpec spec = AugmentSpec::parse(text);
    EXPECT_EQ(spec.most_shift, shift) << text;
    EXPECT_EQ(spec.border, border) << text;
    EXPECT_EQ(spec.flip, flip) << text;
  }
  const AugmentSpec all = AugmentSpec::parse(
      "random-erasing=0.25,cutmix=2,resized-crop=0.25,0.5,flip,color-jitter=0.4,0.3,0.2,0.1,"
      "rand-augment=3,12,mixup=0.2");
  EXPECT_EQ(all.resized_crop->least_area, 0.25);
  EXPECT_EQ(all.resized_crop->least_ratio, 0.5);
  EXPECT_EQ(all.color_jitter->brightness, 0.4);
  EXPECT_EQ(all.color_jitter->contrast, 0.3);
  EXPECT_EQ(all.color_jitter->saturation, 0.2);
  EXPECT_EQ(all.color_jitter->hue, 0.1);
  EXPECT_EQ(all.rand_augment->operations, 3);
  EXPECT_EQ(all.rand_augment->magnitude, 12);
  EXPECT_EQ(all.erasing, 0.25);
  EXPECT_EQ(all.mixup, 0.2);
  EXPECT_EQ(all.cutmix, 2);
  EXPECT_EQ(all.flip, Flip::kRandom);
  EXPECT_TRUE(all.mixes() && all.changes_pixels() && !all.is_crop_and_flip());
  const AugmentSpec defaults =
      AugmentSpec::parse("resized-crop,trivial-augment,random-erasing,mixup,cutmix");
  EXPECT_EQ(defaults.resized_crop->least_area, 0.08);
  EXPECT_EQ(defaults.resized_crop->least_ratio, 0.75);
  EXPECT_TRUE(defaults.trivial_augment);
  EXPECT_EQ(defaults.erasing, 0.5);
  EXPECT_EQ(defaults.mixup, 1);
  EXPECT_EQ(defaults.cutmix, 1);
  EXPECT_EQ(AugmentSpec::parse("mixup,standard").most_shift, 4);
  EXPECT_TRUE(AugmentSpec::parse("reflect=2,alternate-flip").is_crop_and_flip());
  EXPECT_THROW(all.require_shape({2, 8, 8}), UsageError);
  EXPECT_NO_THROW(all.require_shape({1, 8, 8}));
  EXPECT_NO_THROW(AugmentSpec::parse("resized-crop,mixup").require_shape({2, 8, 8}));
  for (const char* text : {"resized-crop=0",
                           "resized-crop=1.1",
                           "resized-crop=0.5,0.5,0.5",
                           "resized-crop,0.5",
                           "0.5",
                           "color-jitter",
                           "color-jitter=0.1,0.1,0.1,0.6",
                           "color-jitter=-1",
                           "mixup=0",
                           "cutmix=",
                           "random-erasing=1.5",
                           "rand-augment=0",
                           "rand-augment=2,31",
                           "trivial-augment=1",
                           "rand-augment,trivial-augment",
                           "resized-crop,crop=4",
                           "mixup,mixup",
                           "flip=1",
                           "none,flip",
                           "standard,flip"}) {
    EXPECT_THROW(AugmentSpec::parse(text), UsageError) << text;
  }
  for (const char* text : {"", "crop", "crop=", "crop=0", "crop=17", "crop=4;flip", "flipp",
                           "crop=4,reflect=2", "flip,alternate-flip"}) {
    EXPECT_THROW(AugmentSpec::parse(text), UsageError) << text;
  }
}

TEST(AugmentText, SuggestsTheNearestWordForAMisspelledOne) {
  const auto refusal_of = [](const char* text) {
    try {
      AugmentSpec::parse(text);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const auto& [text, word] :
       std::map<const char*, std::string>{{"flip,crpo=4", "crop"},
                                          {"standrad", "standard"},
                                          {"mixupp=0.2", "mixup"},
                                          {"random-erase", "random-erasing"}}) {
    EXPECT_TRUE(ends_with(refusal_of(text), "; did you mean " + word + "?")) << refusal_of(text);
  }
  EXPECT_TRUE(ends_with(refusal_of("sideways"), ",flip")) << refusal_of("sideways");
  EXPECT_TRUE(ends_with(refusal_of("none,flip"), ",flip")) << refusal_of("none,flip");
}

}  // namespace
}  // namespace tandem::data
