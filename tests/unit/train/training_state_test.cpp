#include "tandem/train/training_state.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

TrainingState some_state() {
  TrainingState state;
  state.step = 7;
  state.epoch_totals = {1.5, 3, 9, 8, 11};
  state.epoch_seconds = 0.5;
  state.evaluation_due = true;
  state.loss_scale = {1024, 3};
  state.best_accuracy = 0.5;
  state.evaluations_since_best = 2;
  state.result.epochs = 0.25;
  state.result.images_seen = 448;
  state.result.skipped_steps = 2;
  state.result.last_evaluation = Evaluation{};
  state.result.last_evaluation->loss = 2.5;
  state.result.last_evaluation->images = 120;
  return state;
}

TEST(TrainingState, IsTheSameFromItsJson) {
  const Json json = some_state().to_json();
  const TrainingState read = TrainingState::from_json(Json::parse(json.dump()));
  EXPECT_EQ(read.to_json(), json);
  EXPECT_EQ(read.result.steps, 7U);
  EXPECT_EQ(read.result.last_evaluation->loss, 2.5);
  EXPECT_FALSE(read.result.last_validation);
}

TEST(TrainingState, NamesWhatIsMissingOrOfAnotherType) {
  const Json whole = some_state().to_json();
  for (const char* field :
       {"step", "epoch_loss", "epoch_id_hash", "evaluation_due", "train_loss"}) {
    Json json = whole;
    json.erase(field);
    try {
      TrainingState::from_json(json);
      ADD_FAILURE() << field;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
    }
    json[field] = "text";
    EXPECT_THROW(TrainingState::from_json(json), DataError) << field;
  }
  Json json = whole;
  json["last_evaluation"] = Json::object();
  EXPECT_THROW(TrainingState::from_json(json), DataError);
}

TEST(TrainingState, CheckpointsOfEarlierProgramsAreRead) {
  Json json = some_state().to_json();
  for (const char* field : {"loss_scale", "loss_scale_steps", "last_validation", "best_accuracy",
                            "evaluations_since_best"}) {
    json.erase(field);
  }
  const TrainingState read = TrainingState::from_json(json);
  EXPECT_EQ(read.step, 7U);
  EXPECT_EQ(read.loss_scale.scale, 0);
  EXPECT_FALSE(read.best_accuracy);
  EXPECT_EQ(read.evaluations_since_best, 0U);
}

TEST(TrainingState, EndsEarlyAfterEvaluationsWithoutABetterOne) {
  TrainingState state;
  EXPECT_FALSE(state.ends_early(1));
  const std::vector<double> accuracies{0.2, 0.5, 0.5, 0.4, 0.6, 0.1};
  const std::vector<std::uint64_t> since{0, 0, 1, 2, 0, 1};
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    state.take_accuracy(accuracies[i]);
    EXPECT_EQ(state.evaluations_since_best, since[i]) << i;
    EXPECT_EQ(state.ends_early(2), since[i] == 2) << i;
  }
  EXPECT_EQ(state.best_accuracy, 0.6);
  EXPECT_TRUE(state.ends_early(1));
  EXPECT_FALSE(state.ends_early(0));
}

}  // namespace
}  // namespace tandem::train
