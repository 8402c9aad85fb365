#include "tandem/train/checkpointer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "support/failing_calls.hpp"
#include "support/lone_communicator.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/model/registry.hpp"

namespace tandem::train {
namespace {

using namespace std::chrono_literals;
using Steps = std::vector<std::uint64_t>;

// Rank 1 of two ranks saves nothing.
class SecondRank final : public testing::LoneCommunicator {
 public:
  int rank() const override { return 1; }
};

class CheckpointerTest : public ::testing::Test {
 protected:
  CheckpointerTest() {
    OptimizerOptions options;
    options.name = "sgd";
    options.momentum = 0.9;
    optimizer_ = make_optimizer(options, static_cast<std::size_t>(arena_.flat_values().numel()));
  }

  Checkpointer make(const std::optional<TrainingState>& durable = std::nullopt) {
    return make_on(comm_, durable);
  }
  Checkpointer make_on(comm::Communicator& comm, const std::optional<TrainingState>& durable) {
    return Checkpointer({comm, *network_, arena_, *optimizer_}, store_, {2, 0},
                        {{"global_batch", "64"}},
                        {[this](std::uint64_t step, const std::string& path, bool is_best) {
                           EXPECT_EQ(path, store_.path_of(step));
                           written_.push_back(step);
                           written_best_ = is_best;
                         },
                         [this](std::uint64_t step, const std::string& message, bool is_best) {
                           failed_.push_back(step);
                           failed_best_ = is_best;
                           message_ = message;
                         },
                         [this](std::uint64_t step, const std::string& message) {
                           warned_.push_back(step);
                           message_ = message;
                         },
                         [this] { files_before_write_.push_back(store_.files().size()); }},
                        durable);
  }
  static TrainingState state_at(std::uint64_t step) {
    TrainingState state;
    state.step = step;
    state.result.train_seconds = 1;
    return state;
  }

  testing::TempDir folder_;
  CheckpointStore store_{folder_ / "checkpoints"};
  testing::LoneCommunicator comm_;
  model::NetworkPtr network_ = model::make_network("lenet", {1, 28, 28}, 10);
  ParameterArena arena_{*network_, false};
  std::unique_ptr<Optimizer> optimizer_;
  Steps written_, failed_, warned_;
  std::vector<std::size_t> files_before_write_;
  bool written_best_ = false;
  bool failed_best_ = false;
  std::string message_;
};

TEST_F(CheckpointerTest, WritesWhatItIsGivenAndReportsIt) {
  optimizer_->set_steps(7);
  Checkpointer checkpointer = make();
  checkpointer.save(state_at(10));
  EXPECT_EQ(checkpointer.finish(), "");
  EXPECT_EQ(written_, Steps{10});
  EXPECT_FALSE(written_best_);
  EXPECT_TRUE(failed_.empty());
  EXPECT_TRUE(warned_.empty());
  const Checkpoint read = read_checkpoint(store_.path_of(10));
  EXPECT_EQ(read.state.step, 10U);
  EXPECT_EQ(read.metadata.at("global_batch"), "64");
  EXPECT_EQ(read.metadata.at("optimizer_steps"), "7");
  EXPECT_FALSE(read.is_best);
  checkpointer.finish_write();
  EXPECT_EQ(written_, Steps{10}) << "each is reported once";
}

// The buffers of the ranks may differ between steps, and training may read them.
TEST_F(CheckpointerTest, ASaveByTimeLeavesTheBuffersOfTheRanks) {
  class Counting final : public testing::LoneCommunicator {
   public:
    int broadcasts = 0;

   protected:
    void do_broadcast(comm::Buffer /*values*/, int /*root*/) override { ++broadcasts; }
  } comm;
  const model::NetworkPtr network = model::make_network("resnet9", {3, 32, 32}, 10);
  ParameterArena arena{*network, false};
  const auto optimizer = make_optimizer({}, arena.values().size());
  Checkpointer checkpointer({comm, *network, arena, *optimizer}, store_, {2, 0}, {},
                            {[](auto...) {}, [](auto...) {}, [](auto...) {}, [] {}});
  checkpointer.save(state_at(1), Buffers::kLeave);
  const int others = comm.broadcasts;
  checkpointer.save(state_at(2));
  EXPECT_EQ(comm.broadcasts - others, others + static_cast<int>(network->named_buffers().size()));
  checkpointer.finish();
  EXPECT_EQ(store_.steps(), (Steps{2, 1}));
}

TEST_F(CheckpointerTest, TheCopyIsOfTheMomentItIsSavedAt) {
  Checkpointer checkpointer = make();
  arena_.flat_values().fill_(1);
  checkpointer.save(state_at(1));
  arena_.flat_values().fill_(2);
  checkpointer.finish();
  EXPECT_EQ(read_checkpoint(store_.path_of(1)).tensors[0].tensor.flatten()[0].item<float>(), 1);
}

TEST_F(CheckpointerTest, KeepsAsManyAsItIsTold) {
  Checkpointer checkpointer = make();
  for (const std::uint64_t step : {1U, 2U, 3U}) checkpointer.save(state_at(step));
  checkpointer.finish();
  EXPECT_EQ(written_, (Steps{1, 2, 3}));
  EXPECT_EQ(store_.steps(), (Steps{3, 2}));
}

TEST_F(CheckpointerTest, MetricsAreDurableBeforeTheCheckpointHasItsName) {
  Checkpointer checkpointer = make();
  for (const std::uint64_t step : {1U, 2U}) checkpointer.save(state_at(step));
  checkpointer.finish();
  EXPECT_EQ(files_before_write_, (std::vector<std::size_t>{0, 1}));
}

// The writing thread advances meanwhile, which the watchdog must see.
TEST_F(CheckpointerTest, SaysWhetherItIsWaitedFor) {
  std::atomic<bool> may_go_on{false};
  std::atomic<bool> was_awaited{false};
  std::atomic<const Checkpointer*> watched{nullptr};
  const auto began = std::chrono::steady_clock::now();
  const auto is_late = [began] { return std::chrono::steady_clock::now() - began > 10s; };
  store_ = CheckpointStore(folder_ / "checkpoints", [&] {
    while (!may_go_on && !watched.load()->is_awaited() && !is_late()) std::this_thread::yield();
    was_awaited = was_awaited || watched.load()->is_awaited();
  });
  Checkpointer checkpointer = make();
  watched = &checkpointer;
  may_go_on = true;
  checkpointer.save(state_at(1));
  EXPECT_FALSE(checkpointer.is_awaited());
  checkpointer.finish_write();
  may_go_on = false;
  checkpointer.save(state_at(2));
  EXPECT_FALSE(checkpointer.is_awaited());
  checkpointer.finish_write();
  EXPECT_TRUE(was_awaited);
  EXPECT_EQ(written_, (Steps{1, 2}));
}

TEST_F(CheckpointerTest, ABestThatCannotBeNamedIsTriedAgainAtTheEnd) {
  Checkpointer checkpointer = make();
  checkpointer.mark_best();
  checkpointer.save(state_at(1));
  {
    const testing::FailingCalls full("rename", "best", EDQUOT);
    checkpointer.finish_write();
    EXPECT_EQ(warned_, Steps{1});
    EXPECT_EQ(checkpointer.finish(), "");
    EXPECT_EQ(warned_, (Steps{1, 1})) << "why it is an earlier one";
  }
  EXPECT_EQ(checkpointer.finish(), "");
  EXPECT_EQ(warned_, (Steps{1, 1}));
  EXPECT_EQ(read_checkpoint(store_.best_path()).state.step, 1U);
}

TEST_F(CheckpointerTest, MarksTheNextOneAsBestAndNoOther) {
  Checkpointer checkpointer = make();
  checkpointer.mark_best();
  checkpointer.save(state_at(1));
  checkpointer.finish_write();
  EXPECT_TRUE(written_best_);
  checkpointer.save(state_at(2));
  checkpointer.finish();
  EXPECT_FALSE(written_best_);
  EXPECT_EQ(read_checkpoint(store_.best_path()).state.step, 1U);
}

TEST_F(CheckpointerTest, AStateThatIsDurableIsNotWrittenAgain) {
  Checkpointer checkpointer = make(state_at(5));
  TrainingState state = state_at(5);
  state.result.train_seconds = 2;  // a new time alone is no new state
  checkpointer.save(state);
  EXPECT_EQ(checkpointer.finish(), "");
  EXPECT_TRUE(written_.empty());
  checkpointer.save(state_at(6));
  checkpointer.save(state_at(6));
  checkpointer.finish();
  EXPECT_EQ(written_, Steps{6});
}

TEST_F(CheckpointerTest, AStateThatChangedWithoutAStepIsWritten) {
  const auto changed = [this](const std::function<void(TrainingState&)>& change) {
    written_.clear();
    Checkpointer checkpointer = make(state_at(5));
    TrainingState state = state_at(5);
    change(state);
    checkpointer.save(state);
    checkpointer.finish();
    return !written_.empty();
  };
  EXPECT_FALSE(changed([](TrainingState&) {}));
  EXPECT_TRUE(changed([](TrainingState& state) { state.evaluation_due = true; }));
  EXPECT_TRUE(changed([](TrainingState& state) { state.result.last_evaluation.emplace(); }));
  EXPECT_TRUE(changed([](TrainingState& state) { state.result.last_validation.emplace(); }));
  Checkpointer checkpointer = make(state_at(5));
  checkpointer.mark_best();
  checkpointer.save(state_at(5));
  checkpointer.finish();
  EXPECT_TRUE(written_best_);
}

TEST_F(CheckpointerTest, AWriteThatFailsIsReportedAndTriedAgain) {
  Checkpointer checkpointer = make();
  {
    const testing::FailingCalls calls("fdatasync", "step-", ENOSPC);
    checkpointer.mark_best();
    checkpointer.save(state_at(1));
    const std::string why = checkpointer.finish();
    EXPECT_EQ(why, message_);
    EXPECT_NE(why.find("No space left on device; a checkpoint needs "), std::string::npos) << why;
  }
  EXPECT_EQ(failed_, Steps{1});
  EXPECT_TRUE(failed_best_);
  EXPECT_TRUE(written_.empty());
  checkpointer.save(state_at(1));
  EXPECT_EQ(checkpointer.finish(), "") << "the last one was kept";
  EXPECT_EQ(written_, Steps{1});
}

TEST_F(CheckpointerTest, WhatFailsBesideADurableOneIsAWarning) {
  Checkpointer checkpointer = make();
  const testing::FailingCalls calls("rename", "latest", ENOSPC);
  checkpointer.save(state_at(1));
  EXPECT_EQ(checkpointer.finish(), "");
  EXPECT_EQ(written_, Steps{1});
  EXPECT_TRUE(failed_.empty());
  EXPECT_EQ(warned_, Steps{1});
  EXPECT_NE(message_.find("latest"), std::string::npos);
  checkpointer.save(state_at(1));
  checkpointer.finish();
  EXPECT_EQ(written_, Steps{1}) << "it is durable";
}

TEST_F(CheckpointerTest, WhatIsNotFiniteIsNotSaved) {
  Checkpointer checkpointer = make();
  arena_.flat_values()[0] = NAN;
  try {
    checkpointer.save(state_at(1));
    FAIL() << "saved";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kTrainingFailed);
  }
  EXPECT_EQ(checkpointer.finish(), "");
  EXPECT_TRUE(store_.files().empty());
}

TEST_F(CheckpointerTest, OtherRanksWriteNothing) {
  SecondRank second;
  Checkpointer checkpointer = make_on(second, std::nullopt);
  checkpointer.save(state_at(1));
  EXPECT_EQ(checkpointer.finish(), "");
  EXPECT_TRUE(store_.files().empty());
  EXPECT_TRUE(files_before_write_.empty());
}

}  // namespace
}  // namespace tandem::train
