#include "tandem/comm/stall_detector.hpp"

#include <gtest/gtest.h>

namespace tandem::comm {
namespace {

// Ranks that are looked at ten times a second.
class Ranks {
 public:
  // Judged by one of them.
  explicit Ranks(std::size_t count, int detector = 0)
      : detector_(detector), ranks_(count), silent_(count), busy_(count) {
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
  // That many ranks on each.
  void on_hosts_of(int count) {
    for (RankStatus& rank : ranks_) rank.table = rank.rank / count * count;
  }
  void silence(std::size_t rank) { silent_[rank] = true; }
  void revive(std::size_t rank) { silent_[rank] = false; }
  // The rank reports at each look from now on, as in a long phase.
  void keep_busy(std::size_t rank) { busy_[rank] = true; }
  // The stall after this many seconds in which only busy ranks report.
  std::optional<Stall> wait(double seconds) {
    std::optional<Stall> stall;
    for (double end = now_ + seconds; now_ < end; now_ += 0.1) {
      for (std::size_t i = 0; i < ranks_.size(); ++i) {
        if (!silent_[i]) ++ranks_[i].beats;
        if (busy_[i]) ++ranks_[i].reports;
      }
      stall = detector_.look(ranks_, now_);
    }
    return stall;
  }
  // Nobody runs, the detector included.
  void suspend(double seconds) { now_ += seconds; }

 private:
  StallDetector detector_;
  std::vector<RankStatus> ranks_;
  std::vector<bool> silent_;
  std::vector<bool> busy_;
  double now_ = 1000;
};

TEST(StallDetector, BlamesTheRankThatIsFurthestBehind) {
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

TEST(StallDetector, BlamesASilentRankFirst) {
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

TEST(StallDetector, ReportsStartTheTimeAnew) {
  Ranks ranks(2);
  ranks.wait(5);
  ranks.at(0, 2, Phase::kData);
  ranks.at(1, 2, Phase::kData);
  EXPECT_LT(ranks.wait(0.5)->seconds, 0.6);
}

TEST(StallDetector, TimeInWhichTheWholeJobIsSuspendedDoesNotCount) {
  Ranks ranks(2);
  ranks.wait(2);
  ranks.suspend(1000);
  const auto stall = ranks.wait(1);
  ASSERT_TRUE(stall);
  EXPECT_NEAR(stall->seconds, 3, 0.3);
  EXPECT_FALSE(stall->is_silent);
}

TEST(StallDetector, TheHostOfTheCulpritSpeaksFirst) {
  Ranks ranks(4);
  ranks.on_hosts_of(2);
  ranks.wait(0.5);
  ranks.silence(2);
  const auto stall = ranks.wait(4);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 2);
  EXPECT_EQ(stall->reporter, 3);
  EXPECT_EQ(stall->fallback_reporter, 0);
}

// The rank that carries news between hosts is stopped, so the other host falls silent as well.
TEST(StallDetector, WhatIsSeenDirectlyGoesBeforeWhatIsCarried) {
  Ranks ranks(3, 1);
  ranks.on_hosts_of(2);
  ranks.wait(0.5);
  ranks.at(0, 9, Phase::kExchange);
  ranks.silence(0);
  ranks.silence(2);
  const auto stall = ranks.wait(4);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 0);
  EXPECT_EQ(stall->reporter, 1);
}

TEST(StallDetector, NoNewsOfAHostAreNoStallWhileOwnRanksAdvance) {
  Ranks ranks(2);
  ranks.on_hosts_of(1);
  ranks.wait(0.5);
  ranks.silence(1);
  ranks.wait(20);
  ranks.at(0, 2, Phase::kData);
  const auto stall = ranks.wait(1);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 1);
  EXPECT_LT(stall->seconds, 1.2);
}

TEST(StallDetector, WhereAHostIsSilentAnotherSpeaks) {
  Ranks ranks(4, 2);
  ranks.on_hosts_of(2);
  ranks.wait(0.5);
  ranks.silence(0);
  ranks.silence(1);
  const auto stall = ranks.wait(4);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 0);
  EXPECT_EQ(stall->reporter, -1);
  EXPECT_EQ(stall->fallback_reporter, 2);
}

TEST(StallDetector, ARankThatComputesTooLongSpeaksOfItself) {
  Ranks ranks(2);
  ranks.on_hosts_of(1);
  ranks.wait(0.5);
  ranks.at(0, 3, Phase::kExchange);
  ranks.at(1, 3, Phase::kCompute);
  const auto stall = ranks.wait(4);
  ASSERT_TRUE(stall);
  EXPECT_FALSE(stall->is_silent);
  EXPECT_EQ(stall->reporter, 1);
}

TEST(StallDetector, ARankThatHasEndedIsNotBlamed) {
  Ranks ranks(2);
  ranks.wait(0.5);
  ranks.at(0, 9, Phase::kDone);
  ranks.at(1, 9, Phase::kDone);
  ranks.silence(1);
  EXPECT_FALSE(ranks.wait(5));
}

TEST(StallDetector, ARankThatShutsDownIsBlamed) {
  for (const Phase phase : {Phase::kCheckpoint, Phase::kExport, Phase::kShutdown}) {
    Ranks ranks(2);
    ranks.wait(0.5);
    ranks.at(0, 9, Phase::kDone);
    ranks.at(1, 9, phase);
    const auto stall = ranks.wait(5);
    ASSERT_TRUE(stall);
    EXPECT_EQ(stall->culprit.rank, 1);
    EXPECT_EQ(stall->culprit.phase, phase);
  }
}

TEST(StallDetector, RanksThatRunMayWaitForOneThatAdvances) {
  Ranks ranks(3);
  ranks.wait(0.5);
  ranks.keep_busy(1);
  EXPECT_FALSE(ranks.wait(1000));
}

TEST(StallDetector, TheTimeOfRanksThatRunCountsFromTheLastReportOfAny) {
  Ranks ranks(3);
  ranks.wait(7);
  ranks.at(1, 1, Phase::kData);
  const auto stall = ranks.wait(2);
  ASSERT_TRUE(stall);
  EXPECT_NEAR(stall->seconds, 2, 0.2);
  EXPECT_EQ(stall->culprit.rank, 0) << "the first where all are alike";
}

TEST(StallDetector, ASilentRankIsBlamedWhileAnotherAdvances) {
  Ranks ranks(2);
  ranks.wait(0.5);
  ranks.keep_busy(0);
  ranks.silence(1);
  const auto stall = ranks.wait(4);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 1);
  EXPECT_TRUE(stall->is_silent);
  EXPECT_NEAR(stall->seconds, 4, 0.2);
  EXPECT_EQ(stall->reporter, 0);
}

// The rank may have waited long before, for a rank that advanced.
TEST(StallDetector, TheTimeOfASilentRankCountsFromWhenItLastRan) {
  Ranks ranks(2);
  ranks.keep_busy(0);
  ranks.wait(300);
  ranks.silence(1);
  const auto stall = ranks.wait(3);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 1);
  EXPECT_NEAR(stall->seconds, 3, 0.2);
}

TEST(StallDetector, ARankThatFallsSilentInAStallDoesNotEndIt) {
  Ranks ranks(2);
  ranks.wait(4);
  ranks.silence(1);
  EXPECT_NEAR(ranks.wait(2)->seconds, 6, 0.2);
}

TEST(StallDetector, ARankIsSilentAfterAMomentWithoutABeat) {
  Ranks ranks(2);
  ranks.wait(0.5);
  ranks.silence(1);
  EXPECT_FALSE(ranks.wait(1.4)->is_silent);
  EXPECT_TRUE(ranks.wait(0.3)->is_silent);
  ranks.revive(1);
  EXPECT_FALSE(ranks.wait(0.2)->is_silent);
}

TEST(StallDetector, AShortGapBetweenLooksCounts) {
  Ranks ranks(2);
  ranks.wait(2);
  ranks.suspend(0.8);
  EXPECT_NEAR(ranks.wait(1)->seconds, 3.8, 0.3);
}

TEST(StallDetector, TheTimeOfASilentRankOfAnotherHostIsNoLongerThanItWasSilent) {
  Ranks ranks(2);
  ranks.on_hosts_of(1);
  ranks.wait(30);
  ranks.silence(1);
  const auto stall = ranks.wait(3);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit.rank, 1);
  EXPECT_NEAR(stall->seconds, 3, 0.2);
}

TEST(StallDetector, PhasesHaveNames) {
  EXPECT_STREQ(phase_name(Phase::kExchange), "exchange");
  EXPECT_STREQ(phase_name(Phase::kExport), "export");
  EXPECT_STREQ(phase_name(Phase::kShutdown), "shutdown");
  EXPECT_STREQ(phase_name(Phase::kDone), "end");
}

}  // namespace
}  // namespace tandem::comm
