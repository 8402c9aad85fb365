#include "tandem/comm/stall_judge.hpp"

#include <gtest/gtest.h>

namespace tandem::comm {
namespace {

// Ranks that are looked at ten times a second.
class Ranks {
 public:
  explicit Ranks(std::size_t count, bool sees_all = true) : judge_(sees_all), ranks_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      ranks_[i].rank = static_cast<int>(i);
      ranks_[i].process = static_cast<int>(100 + i);
      at(i, 1, Phase::kData);
    }
  }
  void at(std::size_t rank, std::uint64_t step, Phase phase) {
    ranks_[rank].step = step;
    ranks_[rank].phase = phase;
    ++ranks_[rank].reports;
  }
  void silence(std::size_t rank) { silent_ = rank; }
  // The stall after so many seconds in which nobody reports.
  std::optional<Stall> wait(double seconds) {
    std::optional<Stall> stall;
    for (double end = now_ + seconds; now_ < end; now_ += 0.1) {
      for (std::size_t i = 0; i < ranks_.size(); ++i) {
        if (i != silent_) ++ranks_[i].beats;
      }
      stall = judge_.look(ranks_, now_);
    }
    return stall;
  }
  // Nobody runs, the judge included.
  void suspend(double seconds) { now_ += seconds; }

 private:
  StallJudge judge_;
  std::vector<RankView> ranks_;
  std::size_t silent_ = ~std::size_t{0};
  double now_ = 1000;
};

TEST(StallJudge, BlamesTheRankThatIsFurthestBehind) {
  Ranks ranks(3);
  ranks.wait(0.5);
  ranks.at(0, 7, Phase::kExchange);
  ranks.at(1, 7, Phase::kCompute);
  ranks.at(2, 7, Phase::kExchange);
  const auto stall = ranks.wait(5);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 1);
  EXPECT_EQ(stall->culprit.step, 7U);
  EXPECT_EQ(stall->culprit.phase, Phase::kCompute);
  EXPECT_NEAR(stall->seconds, 5, 0.2);
  EXPECT_FALSE(stall->is_silent);
}

TEST(StallJudge, BlamesASilentRankFirst) {
  Ranks ranks(3);
  ranks.wait(0.5);
  ranks.at(0, 7, Phase::kData);
  ranks.at(1, 7, Phase::kData);
  ranks.at(2, 7, Phase::kExchange);
  ranks.silence(2);
  const auto stall = ranks.wait(3);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 2);
  EXPECT_TRUE(stall->is_silent);
}

TEST(StallJudge, ReportsStartTheTimeAnew) {
  Ranks ranks(2);
  ranks.wait(5);
  ranks.at(0, 2, Phase::kData);
  ranks.at(1, 2, Phase::kData);
  EXPECT_LT(ranks.wait(0.5)->seconds, 0.6);
}

TEST(StallJudge, TimeInWhichTheWholeJobIsSuspendedDoesNotCount) {
  Ranks ranks(2);
  ranks.wait(2);
  ranks.suspend(1000);
  const auto stall = ranks.wait(1);
  ASSERT_TRUE(stall);
  EXPECT_NEAR(stall->seconds, 3, 0.3);
  EXPECT_FALSE(stall->is_silent);
}

TEST(StallJudge, KnowsThatTheCulpritIsElsewhere) {
  Ranks ranks(2, false);
  ranks.wait(0.5);
  ranks.at(0, 3, Phase::kExchange);
  ranks.at(1, 3, Phase::kExchange);
  EXPECT_TRUE(ranks.wait(4)->is_elsewhere);
  ranks.at(1, 3, Phase::kExchange);
  ranks.silence(1);
  EXPECT_FALSE(ranks.wait(4)->is_elsewhere);
}

TEST(StallJudge, ARankThatHasEndedIsNotBlamed) {
  Ranks ranks(1);
  ranks.wait(0.5);
  ranks.at(0, 9, Phase::kEnd);
  EXPECT_FALSE(ranks.wait(5));
}

}  // namespace
}  // namespace tandem::comm
