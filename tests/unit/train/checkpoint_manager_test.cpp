// What is on the disk after calls of a CheckpointManager, on one rank.
#include "tandem/train/checkpoint_manager.hpp"

#include <gtest/gtest.h>

#include "support/lone_communicator.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/model/registry.hpp"

namespace tandem::train {
namespace {

class CheckpointManagerTest : public ::testing::Test {
 protected:
  CheckpointManagerTest() {
    checkpoint_policy_.checkpoint_every = {0, CheckpointInterval::Unit::kSteps};
    checkpoint_policy_.save_best = true;
    rules_.every = checkpoint_policy_.checkpoint_every;
    rules_.start = std::chrono::steady_clock::now();
    rules_.total_steps = 100;
    rules_.is_stop_asked = [] { return false; };
  }
  CheckpointManager make_manager(std::optional<double> best_accuracy = std::nullopt) {
    return {
        {comm_, *network_, arena_, *optimizer_},           checkpoint_policy_,           rules_, {},
        {&run_, nullptr, data::Fit::kStretch, sinks_, {}}, {best_accuracy, std::nullopt}};
  }
  static Evaluation found(double accuracy) {
    Evaluation evaluation;
    evaluation.completed = true;
    evaluation.accuracy = accuracy;
    return evaluation;
  }

  tandem::testing::TempDir folder_;
  metrics::RunFolder run_ = metrics::RunFolder::create(folder_ / "runs", "a");
  tandem::testing::LoneCommunicator comm_;
  CheckpointPolicy checkpoint_policy_;
  BoundaryRules rules_;
  metrics::Sinks sinks_;
  model::NetworkPtr network_ = model::make_network("resnet18", {3, 32, 32}, 10);
  ParameterArena arena_{*network_, false};
  std::unique_ptr<Optimizer> optimizer_ = make_optimizer({}, arena_.values().size());
};

// A network whose checkpoint takes a while to write.
TEST_F(CheckpointManagerTest, WhatAnEvaluationFollowsIsDurableBeforeIt) {
  CheckpointManager manager = make_manager();
  TrainingState state;
  state.step = 4;
  state.evaluation_due = true;
  manager.save(state);
  ASSERT_TRUE(file_exists(run_.checkpoints_path() + "/step-00000004.safetensors"));
  const auto read = read_checkpoint(run_.checkpoints_path() + "/step-00000004.safetensors").state;
  EXPECT_TRUE(read.evaluation_due);
}

TEST_F(CheckpointManagerTest, AnAccuracyOfZeroIsTheBestWhereThereIsNone) {
  CheckpointManager manager = make_manager();
  manager.offer_as_best(Evaluation{});
  EXPECT_EQ(manager.decide(3, true), Boundary::kGoOn) << "an evaluation that was given up";
  manager.offer_as_best(found(0));
  EXPECT_EQ(manager.decide(4, true), Boundary::kSave);
  TrainingState state;
  state.step = 4;
  manager.save(state);
  manager.offer_as_best(found(0));
  EXPECT_TRUE(file_exists(run_.checkpoints_path() + "/best.safetensors"));
  EXPECT_EQ(manager.decide(5, true), Boundary::kGoOn) << "the same is not better";
  manager.offer_as_best(found(0.1));
  EXPECT_EQ(manager.decide(6, true), Boundary::kSave);
}

TEST_F(CheckpointManagerTest, ABestOfAnEarlierStartIsToBeBeaten) {
  CheckpointManager manager = make_manager(0.5);
  manager.offer_as_best(found(0.5));
  EXPECT_EQ(manager.decide(4, true), Boundary::kGoOn);
  manager.offer_as_best(found(0.6));
  EXPECT_EQ(manager.decide(5, true), Boundary::kSave);
}

}  // namespace
}  // namespace tandem::train
