#include "tandem/train/boundary_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/lone_communicator.hpp"
#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

using Unit = CheckpointInterval::Unit;

TEST(CheckpointInterval, IsReadFromText) {
  const std::tuple<const char*, std::uint64_t, Unit> texts[] = {
      {"500", 500, Unit::kSteps},  {"7steps", 7, Unit::kSteps},  {"2epochs", 2, Unit::kEpochs},
      {"30s", 30, Unit::kSeconds}, {"10m", 600, Unit::kSeconds}, {"0", 0, Unit::kSteps}};
  for (const auto& [text, count, unit] : texts) {
    EXPECT_EQ(CheckpointInterval::parse(text).count, count) << text;
    EXPECT_EQ(CheckpointInterval::parse(text).unit, unit) << text;
  }
  for (const char* text : {"", "epochs", "5x", "5stepsx", "1099511627777", "5h", "-1", "1.5epochs",
                           "5 steps", "99999999999999999999"}) {
    EXPECT_THROW(CheckpointInterval::parse(text), UsageError) << text;
  }
}

TEST(CheckpointIntervals, AreReadFromAList) {
  const auto read = [](const char* text) {
    std::string units;
    for (const CheckpointInterval& each : CheckpointIntervals::parse(text).all) {
      units += std::to_string(each.count) + "SET"[static_cast<int>(each.unit)];
    }
    return units;
  };
  EXPECT_EQ(read("1epochs,10m"), "1E600T");
  EXPECT_EQ(read("1epochs, 500 ,30s"), "1E500S30T");
  EXPECT_EQ(read("10m"), "600T") << "one means what it did";
  EXPECT_EQ(read("0"), "0S");
  for (const char* text : {"", ",", "1epochs,", "0,10m", "10m,0s", "1epochs;10m", "1epochs 10m"}) {
    EXPECT_THROW(CheckpointIntervals::parse(text), UsageError) << text;
  }
}

BoundaryRules rules_of(const char* every) {
  BoundaryRules rules;
  rules.every = CheckpointIntervals::parse(every);
  rules.start = std::chrono::steady_clock::now();
  rules.total_steps = 20;
  rules.steps_per_epoch = 4;
  rules.is_stop_asked = [] { return false; };
  return rules;
}

std::vector<std::uint64_t> steps_that_save(BoundaryRules rules) {
  testing::LoneCommunicator comm;
  BoundaryPolicy policy(comm, rules);
  std::vector<std::uint64_t> saving;
  for (std::uint64_t step = rules.first_step; step <= rules.total_steps; ++step) {
    const Boundary decision = policy.decide(step);
    EXPECT_NE(decision, Boundary::kSaveAndStop);
    if (decision == Boundary::kSave) saving.push_back(step);
  }
  return saving;
}

TEST(BoundaryPolicy, SavesAtTheIntervalAndAtTheEnd) {
  EXPECT_EQ(steps_that_save(rules_of("6")), (std::vector<std::uint64_t>{6, 12, 18, 20}));
  EXPECT_EQ(steps_that_save(rules_of("2epochs")), (std::vector<std::uint64_t>{8, 16, 20}));
  EXPECT_EQ(steps_that_save(rules_of("0")), std::vector<std::uint64_t>{20});
  EXPECT_EQ(steps_that_save(rules_of("6,2epochs")),
            (std::vector<std::uint64_t>{6, 8, 12, 16, 18, 20}));
  EXPECT_EQ(steps_that_save(rules_of("1epochs")), (std::vector<std::uint64_t>{4, 8, 12, 16, 20}));
}

TEST(BoundaryPolicy, DoesNotSaveAgainWhereItBegan) {
  BoundaryRules rules = rules_of("6");
  rules.first_step = 12;
  EXPECT_EQ(steps_that_save(rules), (std::vector<std::uint64_t>{18, 20}));
  rules.first_step = 20;
  EXPECT_EQ(steps_that_save(rules), std::vector<std::uint64_t>{});
}

TEST(BoundaryPolicy, SavesAnEvaluationWhereTheStateBeforeItWasSaved) {
  testing::LoneCommunicator comm;
  BoundaryRules rules = rules_of("8");
  rules.first_step = 4;
  BoundaryPolicy policy(comm, rules);
  EXPECT_EQ(policy.decide(4, true), Boundary::kSave) << "the one that was due at the start";
  EXPECT_EQ(policy.decide(6, false), Boundary::kGoOn);
  EXPECT_EQ(policy.decide(6, true), Boundary::kGoOn);
  EXPECT_EQ(policy.decide(8, false), Boundary::kSave);
  EXPECT_EQ(policy.decide(8, false), Boundary::kGoOn) << "nothing has changed";
  EXPECT_EQ(policy.decide(8, true), Boundary::kSave);
  EXPECT_EQ(policy.decide(9, true), Boundary::kGoOn);
}

TEST(BoundaryPolicy, StopsBeforeWhatWouldEndTooLate) {
  testing::LoneCommunicator comm;
  BoundaryRules rules = rules_of("0");
  rules.stop_after_seconds = 100;
  BoundaryPolicy policy(comm, rules);
  EXPECT_FALSE(policy.must_stop_within(50));
  EXPECT_EQ(policy.decide(1), Boundary::kGoOn);
  EXPECT_TRUE(policy.must_stop_within(101));
  EXPECT_TRUE(policy.must_stop_within(0)) << "what was given up is not gone on with";
  EXPECT_EQ(policy.decide(1), Boundary::kSaveAndStop);
}

TEST(BoundaryPolicy, TheClockIsThatOfRank0) {
  class Second final : public testing::LoneCommunicator {
    int rank() const override { return 1; }
  } comm;
  BoundaryRules rules = rules_of("0");
  rules.stop_after_seconds = 1;
  rules.start -= std::chrono::seconds(100);
  EXPECT_FALSE(BoundaryPolicy(comm, rules).must_stop_within(1000));
}

TEST(BoundaryPolicy, SavesOnceWhereItIsAskedTo) {
  testing::LoneCommunicator comm;
  BoundaryPolicy policy(comm, rules_of("0"));
  policy.ask_to_save();
  EXPECT_EQ(policy.decide(1), Boundary::kSave);
  EXPECT_EQ(policy.decide(2), Boundary::kGoOn);
}

TEST(BoundaryPolicy, AnInvitationToSaveCountsWhereTheRunBeganToo) {
  testing::LoneCommunicator comm;
  BoundaryRules rules = rules_of("6");
  rules.first_step = 12;
  BoundaryPolicy policy(comm, rules);
  policy.ask_to_save();
  EXPECT_EQ(policy.decide(12), Boundary::kSave);
  EXPECT_EQ(policy.decide(12), Boundary::kGoOn);
}

TEST(BoundaryPolicy, SavesAfterSoManySecondsSinceTheLastSave) {
  testing::LoneCommunicator comm;
  BoundaryRules rules = rules_of("2m");
  auto time = rules.start + std::chrono::hours(1);
  rules.now = [&time] { return time; };
  BoundaryPolicy policy(comm, rules);
  time += std::chrono::seconds(119);
  EXPECT_EQ(policy.decide(1), Boundary::kGoOn) << "it counts from where it was made";
  time += std::chrono::seconds(1);
  EXPECT_EQ(policy.decide(2), Boundary::kSave);
  time += std::chrono::seconds(119);
  EXPECT_EQ(policy.decide(3), Boundary::kGoOn) << "and from the last save";
  policy.ask_to_save();
  EXPECT_EQ(policy.decide(4), Boundary::kSave);
  time += std::chrono::seconds(119);
  EXPECT_EQ(policy.decide(5), Boundary::kGoOn);
  time += std::chrono::seconds(2);
  EXPECT_EQ(policy.decide(6), Boundary::kSave);
}

// Another run may reach this step at another time.
TEST(BoundaryPolicy, TellsASaveByTimeFromOneByStep) {
  testing::LoneCommunicator comm;
  BoundaryRules rules = rules_of("1epochs,10m");
  auto time = rules.start;
  rules.now = [&time] { return time; };
  BoundaryPolicy policy(comm, rules);
  EXPECT_EQ(policy.decide(1), Boundary::kGoOn);
  time += std::chrono::minutes(10);
  EXPECT_EQ(policy.decide(2), Boundary::kSave);
  EXPECT_TRUE(policy.is_timed());
  time += std::chrono::minutes(9);
  EXPECT_EQ(policy.decide(3), Boundary::kGoOn);
  EXPECT_FALSE(policy.is_timed());
  time += std::chrono::minutes(1);
  EXPECT_EQ(policy.decide(4), Boundary::kSave) << "both are due";
  EXPECT_FALSE(policy.is_timed());
  time += std::chrono::minutes(10);
  policy.ask_to_save();
  EXPECT_EQ(policy.decide(5), Boundary::kSave);
  EXPECT_FALSE(policy.is_timed());
}

// Rank 1 of two ranks, where rank 0 requests `first`: to go on, or to save by time or by step.
class SecondOfTwo final : public testing::LoneCommunicator {
 public:
  explicit SecondOfTwo(std::int64_t first) : first_(first) {}
  int rank() const override { return 1; }

 protected:
  void do_all_reduce_by(comm::Reduction kind, comm::Buffer value) override {
    EXPECT_EQ(kind, comm::Reduction::kMax);
    auto* mine = static_cast<std::int64_t*>(value.data);
    *mine = std::max(*mine, first_);
  }

 private:
  const std::int64_t first_;
};

// A signal to one rank stops all; other ranks do not decide what rank 0 alone decides.
TEST(BoundaryPolicy, RanksDecideAlike) {
  BoundaryRules rules = rules_of("6");
  rules.stop_after_seconds = 1;
  rules.start -= std::chrono::seconds(100);
  SecondOfTwo goes_on(0);
  EXPECT_EQ(BoundaryPolicy(goes_on, rules).decide(6), Boundary::kGoOn) << "rank 0's clock counts";
  SecondOfTwo saves_by_time(1);
  BoundaryPolicy timed(saves_by_time, rules);
  EXPECT_EQ(timed.decide(6), Boundary::kSave);
  EXPECT_TRUE(timed.is_timed()) << "or the ranks would not meet in one broadcast";
  SecondOfTwo saves(2);
  EXPECT_EQ(BoundaryPolicy(saves, rules).decide(5), Boundary::kSave);
  rules.is_stop_asked = [] { return true; };
  EXPECT_EQ(BoundaryPolicy(saves, rules).decide(5), Boundary::kSaveAndStop);
}

// Counts the agreements of rank 0 of many.
class Counted final : public testing::LoneCommunicator {
 public:
  std::uint64_t agreements = 0;

 protected:
  void do_all_reduce_by(comm::Reduction, comm::Buffer) override { ++agreements; }
};

TEST(BoundaryPolicy, AgreesAboutSoOftenAndWhereStepsSaveOrEndAnEpoch) {
  Counted comm;
  BoundaryRules rules = rules_of("150,10m");
  rules.steps_per_epoch = 90;
  rules.total_steps = 200;
  rules.agreement_seconds = 0.05;
  auto time = rules.start;
  rules.now = [&time] { return time; };
  bool is_stop_asked = false;
  rules.is_stop_asked = [&] { return is_stop_asked; };
  BoundaryPolicy policy(comm, rules);
  std::vector<std::uint64_t> agreed;
  for (std::uint64_t step = 1; step <= 200; ++step) {
    time += std::chrono::milliseconds(step < 100 ? 5 : 100);
    const std::uint64_t before = comm.agreements;
    const Boundary decision = policy.decide(step);
    EXPECT_EQ(decision == Boundary::kSave, step == 150 || step == 200) << step;
    if (comm.agreements > before) agreed.push_back(step);
  }
  EXPECT_LT(agreed.size(), 12U + 101U);
  const auto has = [&agreed](std::uint64_t step) {
    return std::find(agreed.begin(), agreed.end(), step) != agreed.end();
  };
  for (const std::uint64_t step : {1, 2, 12, 22, 90, 120, 150, 180, 199, 200}) {
    EXPECT_TRUE(has(step)) << step;
  }
  for (const std::uint64_t step : {5, 13, 89}) EXPECT_FALSE(has(step)) << step;
  EXPECT_EQ(policy.decide(205, true), Boundary::kGoOn);
  EXPECT_EQ(comm.agreements, agreed.size() + 1) << "after an evaluation, too";
}

// The steps before its first one were not made since its start.
TEST(BoundaryPolicy, AResumedRunOfSlowStepsAgreesInEach) {
  Counted comm;
  BoundaryRules rules = rules_of("0");
  rules.first_step = 100'000;
  rules.steps_per_epoch = rules.total_steps = 1'000'000;
  rules.agreement_seconds = 0.05;
  auto time = rules.start;
  rules.now = [&time] { return time; };
  BoundaryPolicy policy(comm, rules);
  for (std::uint64_t step = 100'001; step <= 100'010; ++step) {
    // A host that runs ahead of its GPU waits in every other step for both.
    time += std::chrono::milliseconds(step % 2 == 0 ? 8000 : 1);
    policy.decide(step);
  }
  EXPECT_GE(comm.agreements, 7U);
}

TEST(BoundaryPolicy, AStopWaitsForTheNextAgreement) {
  testing::LoneCommunicator comm;
  BoundaryRules rules = rules_of("0");
  rules.steps_per_epoch = rules.total_steps = 1000;
  rules.agreement_seconds = 1;
  auto time = rules.start;
  rules.now = [&time] { return time; };
  bool is_stop_asked = false;
  rules.is_stop_asked = [&] { return is_stop_asked; };
  BoundaryPolicy policy(comm, rules);
  std::uint64_t stopped_at = 0;
  for (std::uint64_t step = 1; stopped_at == 0 && step < 1000; ++step) {
    time += std::chrono::microseconds(1);  // as a host that runs ahead of its GPU
    is_stop_asked = step > 100;
    if (policy.decide(step) == Boundary::kSaveAndStop) stopped_at = step;
  }
  EXPECT_GT(stopped_at, 101U);
  EXPECT_LE(stopped_at, 101U + 32U);
}

TEST(BoundaryPolicy, StopsForASignalAndForTheClock) {
  testing::LoneCommunicator comm;
  BoundaryRules rules = rules_of("0");
  rules.is_stop_asked = [] { return true; };
  EXPECT_EQ(BoundaryPolicy(comm, rules).decide(0), Boundary::kSaveAndStop);
  rules = rules_of("0");
  rules.stop_after_seconds = 100;
  EXPECT_EQ(BoundaryPolicy(comm, rules).decide(1), Boundary::kGoOn);
  rules.start -= std::chrono::seconds(100);
  EXPECT_EQ(BoundaryPolicy(comm, rules).decide(1), Boundary::kSaveAndStop);
}

}  // namespace
}  // namespace tandem::train
