#include "cli/rank_choice.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

std::vector<int> chosen(const std::string& text, int world) {
  return RankChoice::parse(text).among(world);
}

TEST(RankChoice, NamesNoneAllOrSome) {
  EXPECT_EQ(chosen("0", 4), std::vector<int>());
  EXPECT_EQ(chosen("all", 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(chosen("2,0", 4), (std::vector<int>{0, 2}));
  EXPECT_EQ(chosen("1-2,2-3,3", 4), (std::vector<int>{1, 2, 3}));
}

TEST(RankChoice, RefusesWhatIsNoListAndRanksThatAreNotThere) {
  for (const char* text : {"", "All", "1,", "-1", "1-", "3-2", "1.5", "1000000"}) {
    EXPECT_THROW(RankChoice::parse(text), UsageError) << text;
  }
  EXPECT_THROW(chosen("0,4", 4), UsageError);
  EXPECT_THROW(chosen("0-999999", 4), UsageError);
}

}  // namespace
}  // namespace tandem::app
