#include "tandem/train/schedule.hpp"

#include <gtest/gtest.h>

#include "support/golden.hpp"

namespace tandem::train {
namespace {

constexpr std::uint64_t kStepsPerEpoch = 1;  // the fixtures count in steps

ScheduleOptions options_named(const std::string& name) {
  ScheduleOptions options;
  options.name = name;
  return options;
}

TEST(Schedule, FollowsPyTorch) {
  const Json fixtures = testing::read_golden("schedules.json");
  ASSERT_GE(fixtures["cases"].size(), 4U);
  for (const Json& one : fixtures["cases"]) {
    ScheduleOptions options = options_named(one["schedule"]);
    options.warmup_epochs = one["warmup_steps"];
    if (one.contains("step_size")) {
      options.step_epochs = one["step_size"];
      options.step_gamma = one["gamma"];
    }
    if (one.contains("power")) options.polynomial_power = one["power"];
    const Schedule schedule(options, one["lr"], kStepsPerEpoch, one["total_steps"]);
    for (std::size_t step = 0; step < one["expected"].size(); ++step) {
      EXPECT_NEAR(schedule.at(step), one["expected"][step].get<double>(), 1e-12)
          << one["name"] << ", step " << step;
    }
  }
}

TEST(Schedule, TriangleRisesToItsPeakAndFallsToNearZero) {
  ScheduleOptions options = options_named("triangle");
  options.warmup_epochs = 2;
  const Schedule schedule(options, 1.0, 5, 50);
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(9), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(10), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(30), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(49), 1.0 / 40);
}

TEST(Schedule, TriangleWithoutWarmUpRisesForAQuarter) {
  const Schedule schedule(options_named("triangle"), 1.0, 10, 40);
  EXPECT_DOUBLE_EQ(schedule.at(4), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(9), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(25), 0.5);
}

TEST(Schedule, ItsLastRateHolds) {
  for (const char* name : {"cosine", "linear", "polynomial", "triangle"}) {
    const ScheduleOptions options = options_named(name);
    EXPECT_TRUE(Schedule::depends_on_length(options));
    const Schedule schedule(options, 1.0, 10, 40);
    EXPECT_GT(schedule.at(39), 0) << name;
    EXPECT_EQ(schedule.at(40), 0) << name;
    EXPECT_EQ(schedule.at(400), 0) << name;
  }
  ScheduleOptions rising = options_named("cosine");
  rising.warmup_epochs = 10;
  const Schedule schedule(rising, 1.0, 10, 40);
  EXPECT_DOUBLE_EQ(schedule.at(39), 0.4);
  EXPECT_DOUBLE_EQ(schedule.at(40), 0.4) << "it never came to its peak";
  for (const char* name : {"constant", "step"}) {
    EXPECT_FALSE(Schedule::depends_on_length(options_named(name)));
  }
  ScheduleOptions falling = options_named("step");
  falling.step_epochs = 1;
  EXPECT_DOUBLE_EQ(Schedule(falling, 1.0, 10, 20).at(30), 1e-3) << "it has no length";
}

}  // namespace
}  // namespace tandem::train
