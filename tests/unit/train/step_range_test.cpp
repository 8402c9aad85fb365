#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/train/step_profiler.hpp"

namespace tandem::train {
namespace {

TEST(StepRange, IsAStepOrTwo) {
  EXPECT_EQ(StepRange::parse("5").first, 5U);
  EXPECT_EQ(StepRange::parse("5").last, 5U);
  EXPECT_EQ(StepRange::parse("6-10").first, 6U);
  EXPECT_EQ(StepRange::parse("6-10").last, 10U);
  EXPECT_EQ(StepRange::parse("7-7").last, 7U);
}

TEST(StepRange, RefusesWhatIsNone) {
  for (const char* text : {"", "0", "x", "3-", "-3", "1-2-3", "0-4", "4-x", "99999999999999"}) {
    try {
      StepRange::parse(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("'" + std::string(text) + "'"), std::string::npos)
          << error.what();
    }
  }
  try {
    StepRange::parse("10-6");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--profile: '10-6' ends before it begins");
  }
}

}  // namespace
}  // namespace tandem::train
