#include "tandem/data/fit_picture.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "data/parallel.hpp"
#include "data_fixtures.hpp"
#include "support/golden.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using Values = std::vector<std::uint8_t>;

// As in make_picture_fixtures.py.
Picture pattern(int height, int width) {
  Picture picture{3, height, width, Values(static_cast<std::size_t>(3 * height * width))};
  for (std::size_t i = 0; i < picture.values.size(); ++i) {
    picture.values[i] = static_cast<std::uint8_t>(37 * i + i / 7 * 11);
  }
  return picture;
}

Values fit(Picture picture, ImageShape shape) {
  Values image(shape.pixels());
  fit_picture(std::move(picture), shape, image.data());
  return image;
}

TEST(FitPicture, ResizesAsPillowDoes) {
  const Json golden = testing::read_golden("pictures.json");
  for (const Json& each : golden.at("resizes")) {
    const auto from = each.at("from").get<std::vector<int>>();
    const auto to = each.at("to").get<std::vector<int>>();
    const Picture resized = resize(pattern(from[0], from[1]), to[0], to[1]);
    EXPECT_EQ(resized.height, to[0]);
    EXPECT_EQ(resized.width, to[1]);
    EXPECT_EQ(resized.values, each.at("values").get<Values>())
        << from[0] << "x" << from[1] << " to " << to[0] << "x" << to[1];
  }
}

TEST(FitPicture, ShrinkingTakesEveryPixelIntoAccount) {
  // Two pixels of 0 and two of 200 become one between them, not one of them.
  EXPECT_EQ(resize({1, 1, 4, {0, 0, 200, 200}}, 1, 1).values, Values{100});
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Widened as a whole, it would take 90 MB between the two steps.
TEST(FitPicture, ANarrowPictureCostsNoMoreThanItHas) {
  Picture narrow{1, 400'000, 1, Values(400'000, 7)};
  const long before = peak_kilobytes();
  EXPECT_EQ(resize(std::move(narrow), 224, 224).values, Values(224 * 224, 7));
  EXPECT_LT(peak_kilobytes() - before, 40'000);
}

TEST(FitPicture, CropsTheCenterAsTorchvisionDoes) {
  const Json golden = testing::read_golden("center_crops.json");
  for (const Json& each : golden.at("crops")) {
    const auto from = each.at("from").get<std::vector<int>>();
    const int side = each.at("side").get<int>();
    const Picture crop = center_crop(pattern(from[0], from[1]), side, side);
    EXPECT_EQ(crop.height, side);
    EXPECT_EQ(crop.width, side);
    EXPECT_EQ(crop.values, each.at("values").get<Values>())
        << from[0] << "x" << from[1] << " to " << side;
  }
}

// A shape that is no square: 8 x 16 of 9 x 18, which is the center of 9 x 27.
TEST(FitPicture, CropsTheCenterOfAnyShape) {
  Picture picture{1, 9, 27, Values(std::size_t{9} * 27)};
  for (std::size_t i = 0; i < picture.values.size(); ++i) {
    picture.values[i] = static_cast<std::uint8_t>(i % 27);
  }
  const Picture crop = center_crop(picture, 8, 16);
  ASSERT_EQ(crop.values.size(), std::size_t{8} * 16);
  for (std::size_t i = 0; i < crop.values.size(); ++i) {
    EXPECT_EQ(crop.values[i], 6 + i % 16) << "(27 - 16) / 2 = 5.5, and halves go to even";
  }
  Values image(std::size_t{3} * 8 * 16);
  fit_picture(std::move(picture), {3, 8, 16}, image.data(), Fit::kCenterCrop);
  EXPECT_TRUE(std::equal(crop.values.begin(), crop.values.end(), image.begin()));
}

// Resized as a whole, it would have 117 million columns.
TEST(FitPicture, TheCenterOfANarrowPictureCostsNoMoreThanItHas) {
  const long before = peak_kilobytes();
  EXPECT_EQ(center_crop({1, 1, 400'000, Values(400'000, 7)}, 256, 256).values,
            Values(std::size_t{256} * 256, 7));
  EXPECT_LT(peak_kilobytes() - before, 40'000);
}

TEST(FitPicture, ThePictureOfTheRightSizeKeepsItsBytes) {
  const Picture picture = pattern(4, 5);
  const Values image = fit(picture, {3, 4, 5});
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(image[c * 20 + i], picture.values[3 * i + c]);
  }
}

TEST(FitPicture, GrayAndColorBecomeEachOther) {
  EXPECT_EQ(fit({1, 1, 2, {7, 9}}, {3, 1, 2}), (Values{7, 9, 7, 9, 7, 9}));
  // ITU-R 601: 0.299 R + 0.587 G + 0.114 B.
  EXPECT_EQ(fit({3, 1, 4, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}}, {1, 1, 4}),
            (Values{76, 150, 29, 255}));
}

TEST(FitPicture, TransparencyIsWhite) {
  EXPECT_EQ(fit({2, 1, 3, {10, 255, 10, 0, 0, 128}}, {1, 1, 3}), (Values{10, 255, 127}));
  EXPECT_EQ(fit({4, 1, 2, {1, 2, 3, 255, 1, 2, 3, 0}}, {3, 1, 2}),
            (Values{1, 255, 2, 255, 3, 255}));
}

TEST(FitPicture, OtherNumbersOfChannelsAreRefused) {
  expect_error(ExitCode::kUsage, {"2 channels", "1 (gray) or 3"},
               [] { require_picture_channels(2); });
}

// The most threads that held `each` of 100 at a time.
int most_at_once(std::uint64_t each) {
  MemoryBudget budget(100);
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  for_each_index(200, 8, [&](std::size_t) {
    MemoryBudget::Share share(budget);
    share.take(each);
    const int here = ++now;
    int before = most;
    while (before < here && !most.compare_exchange_weak(before, here)) {
    }
    std::this_thread::yield();
    --now;
  });
  return most;
}

TEST(MemoryBudget, IsNeverExceeded) {
  EXPECT_LE(most_at_once(30), 3);
  EXPECT_EQ(most_at_once(60), 1);
}

TEST(MemoryBudget, WhatIsLargerThanAllOfItWorksAlone) { EXPECT_EQ(most_at_once(1000), 1); }

}  // namespace
}  // namespace tandem::data
