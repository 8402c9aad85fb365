#include "engine/run/plan.hpp"

#include <gtest/gtest.h>

namespace tandem::app {
namespace {

TEST(Plan, CountsTheImagesOfShortBatchesToo) {
  train::TrainConfig config;
  config.global_batch_size = 30;
  const auto arithmetic = train::BatchArithmetic::of(config, 100, 2);
  ASSERT_EQ(arithmetic.steps_per_epoch, 4U);
  EXPECT_EQ(images_of_steps(config, arithmetic, 100, 0), 0U);
  EXPECT_EQ(images_of_steps(config, arithmetic, 100, 1), 30U);
  EXPECT_EQ(images_of_steps(config, arithmetic, 100, 4), 100U);
  EXPECT_EQ(images_of_steps(config, arithmetic, 100, 9), 230U);
  config.drop_last = true;
  const auto dropping = train::BatchArithmetic::of(config, 100, 2);
  ASSERT_EQ(dropping.steps_per_epoch, 3U);
  EXPECT_EQ(images_of_steps(config, dropping, 100, 4), 120U);
}

// A step of 1 s of computing and 1 s of exchange on 2 ranks, half of that latency.
train::Forecast forecast_of_2() {
  train::Forecast forecast;
  forecast.compute.forward = 1;
  forecast.buckets = {{1e6, 0}};
  forecast.sum = {0.5, 0.5e-6};
  return forecast;
}

TEST(Plan, CarriesToMoreRanksOnly) {
  EXPECT_TRUE(project_scaling(forecast_of_2(), 100, 1, 1, false).empty())
      << "nothing of links is known";
  const auto from_2 = project_scaling(forecast_of_2(), 100, 2, 1, false);
  ASSERT_EQ(from_2.size(), 4U);
  EXPECT_EQ(from_2.front().ranks, 8);
  EXPECT_EQ(from_2.back().ranks, 4096);
  EXPECT_EQ(project_scaling(forecast_of_2(), 100, 64, 1, false).front().ranks, 512);
}

TEST(Plan, CarriesLatencyAndBytes) {
  const ScalingProjection plan = project_scaling(forecast_of_2(), 100, 2, 1, false).front();
  // Rounds: 2 x 1 and 2 x 3, or in a ring 2 x 7; bytes: 1 and 7/4 of what is summed.
  EXPECT_NEAR(plan.doubling, 400 / (1 + 1.5 + 0.5 * 7 / 4), 1e-9);
  EXPECT_NEAR(plan.ring, 400 / (1 + 3.5 + 0.5 * 7 / 4), 1e-9);
}

TEST(Plan, InTwoLevelsHostsGrowInNumber) {
  // 4 ranks on 2 hosts; 8 ranks are 4 hosts: 2 rounds in place of 1, 3/2 of the bytes.
  const ScalingProjection plan = project_scaling(forecast_of_2(), 100, 4, 2, true).front();
  EXPECT_NEAR(plan.doubling, 200 / (1 + 1 + 0.75), 1e-9);
  EXPECT_TRUE(project_scaling(forecast_of_2(), 100, 4, 1, true).empty())
      << "nothing of links is known";
}

TEST(Plan, RangeHoldsAllWindowsAndWhatRunsDifferBy) {
  Range range;
  EXPECT_EQ(median_and_range({100, 99, 101}, range), 100);
  EXPECT_DOUBLE_EQ(range.low, 95);
  EXPECT_DOUBLE_EQ(range.high, 105);
  EXPECT_EQ(median_and_range({100, 40, 160}, range), 100);
  EXPECT_DOUBLE_EQ(range.low, 40);
  EXPECT_DOUBLE_EQ(range.high, 160);
}

TEST(Plan, TwoDigitsOutward) {
  EXPECT_EQ(format_range({5432, 6071}), "5,400 to 6,100");
  EXPECT_EQ(format_range({5400, 5400}), "5,400");
  EXPECT_EQ(format_range({0.0123, 0.99}), "0.012 to 0.99");
  EXPECT_EQ(format_range({9.91, 99.2}), "9.9 to 100");
  EXPECT_EQ(format_range({13652033, 13652033}), "13,000,000 to 14,000,000");
}

}  // namespace
}  // namespace tandem::app
