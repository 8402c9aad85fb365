// The order in which a trainer decides, saves and evaluates, recorded by mock parts.
#include "tandem/train/trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/lone_communicator.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/boundary_policy.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/reducer.hpp"

namespace tandem::train {
namespace {

using Words = std::vector<std::string>;

// Two epochs of three steps, on twelve images.
class TrainerOrder : public ::testing::Test {
 protected:
  TrainerOrder() {
    config_.model = "lenet";
    config_.global_batch_size = 4;
    config_.epochs = 2;
    config_.threads = 1;
    rules_.every = CheckpointInterval::parse("1epochs");
    rules_.start = std::chrono::steady_clock::now();
    rules_.is_stop_asked = [] { return false; };
    plan_ = training_plan(config_, arithmetic(), kCount);
  }

  BatchArithmetic arithmetic() const { return BatchArithmetic::of(config_, kCount, 1); }

  static std::string word(const char* what, const TrainingState& state) {
    return what + std::to_string(state.step) + (state.evaluation_due ? " due" : "");
  }

  TrainResult run(const TrainingState& from = {}) {
    rules_.first_step = plan_.first_step = from.step;
    rules_.total_steps = plan_.steps;
    rules_.steps_per_epoch = plan_.steps_per_epoch();
    BoundaryPolicy policy(comm_, rules_);
    Reducer reducer(arena_, comm_, 0);
    const auto optimizer = make_optimizer({}, arena_.values().size());
    const auto backend = make_step_backend(arena_, *optimizer, 0);
    const Schedule schedule({}, 0.01, plan_.steps_per_epoch(), plan_.steps);
    const data::ImagesView view{
        kShape, {pixels_.data(), pixels_.size()}, {labels_.data(), labels_.size()}};
    const data::Transform transform(kShape, data::Layout::kPlanar, {0.4}, {0.3});
    LoadedBatches batches(view, transform, {},
                          std::make_unique<data::TrainingSampler>(shown_ ? *shown_ : plan_, 0, 1));
    metrics::Sinks sinks;
    sinks.push_back(std::make_unique<StepSink>(logged_));
    TrainerSettings settings;
    settings.plan = plan_;
    settings.log_every = log_every_;
    settings.eval_every = eval_every_;
    settings.early_stop = early_stop_;
    EvaluationSettings evaluation{transform, {}, 10, torch::kCPU, [&](double seconds) {
                                    return policy.must_stop_within(seconds);
                                  }};
    evaluation.views = views_;
    ObservedEvaluator evaluator(
        *this, policy,
        {comm_, *network_, view, holds_out_ ? view : data::ImagesView(), evaluation});
    ObservedCheckpoints checkpoints(*this, policy);
    Trainer trainer({comm_,
                     {*network_, arena_, reducer, *backend, batches},
                     schedule,
                     evaluator,
                     sinks,
                     &checkpoints},
                    settings, from);
    return trainer.run();
  }

  // Steps and images of each record.
  using Logged = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  class StepSink final : public metrics::Sink {
   public:
    explicit StepSink(Logged& logged) : logged_(logged) {}
    void on_step(const metrics::StepRecord& record) override {
      EXPECT_TRUE(std::isfinite(record.loss)) << "step " << record.step;
      logged_.emplace_back(record.step, record.ranks.at(0).images);
    }
    void on_epoch(const metrics::EpochRecord& /*record*/) override {}
    void on_evaluation(const metrics::EvaluationRecord& /*record*/) override {}
    void on_note(const metrics::NoteRecord& /*record*/) override {}

   private:
    Logged& logged_;
  };

  class ObservedEvaluator final : public Evaluator {
   public:
    ObservedEvaluator(TrainerOrder& test, BoundaryPolicy& policy, const Evaluator& evaluator)
        : Evaluator(evaluator), test_(test), policy_(policy) {}
    Evaluation of_test_images(bool last) override {
      test_.words_.push_back(last ? "evaluate last" : "evaluate");
      test_.during_evaluation_();
      if (test_.accuracy_rises_) policy_.ask_to_save();
      return with_accuracy(Evaluator::of_test_images(last));
    }
    Evaluation of_held_out() override {
      test_.words_.emplace_back("validate");
      return with_accuracy(Evaluator::of_held_out());
    }

   private:
    Evaluation with_accuracy(Evaluation evaluation) {
      std::vector<double>& next = test_.accuracies_;
      if (next.empty() || !evaluation.completed) return evaluation;
      evaluation.accuracy = next.front();
      next.erase(next.begin());
      return evaluation;
    }

    TrainerOrder& test_;
    BoundaryPolicy& policy_;
  };

  class ObservedCheckpoints final : public Checkpoints {
   public:
    ObservedCheckpoints(TrainerOrder& test, BoundaryPolicy& policy)
        : test_(test), policy_(policy) {}
    Boundary decide(std::uint64_t step, bool evaluated) override {
      return policy_.decide(step, evaluated);
    }
    void save(const TrainingState& state) override {
      test_.words_.push_back(word("save ", state));
      test_.saved_ = state;
    }
    void offer_as_best(const Evaluation& evaluation) override {
      if (evaluation.completed) test_.considered_.push_back(evaluation.accuracy);
    }
    void ask_to_save() override { policy_.ask_to_save(); }
    void write_evaluation(const Evaluation& evaluation) override {
      test_.words_.push_back("keep " + std::to_string(evaluation.step));
    }

   private:
    TrainerOrder& test_;
    BoundaryPolicy& policy_;
  };

  static constexpr std::uint64_t kCount = 12;
  static constexpr data::ImageShape kShape{1, 28, 28};
  testing::LoneCommunicator comm_;
  TrainConfig config_;
  BoundaryRules rules_;
  data::TrainingPlan plan_;
  std::uint64_t eval_every_ = 1;
  std::uint64_t log_every_ = 10;
  std::uint64_t early_stop_ = 0;
  bool holds_out_ = false;
  bool views_ = false;
  bool accuracy_rises_ = false;
  std::vector<double> accuracies_;  // what the next evaluations find; empty: what they really do
  std::optional<data::TrainingPlan> shown_;  // what is shown instead of plan_
  std::function<void()> during_evaluation_ = [] {};
  std::vector<std::uint8_t> pixels_ = std::vector<std::uint8_t>(kCount * kShape.pixels(), 90);
  std::vector<data::Label> labels_ = std::vector<data::Label>(kCount, 3);
  model::NetworkPtr network_ = model::make_network("lenet", {1, 28, 28}, 10);
  ParameterArena arena_{*network_, false};
  Words words_;
  std::vector<double> considered_;
  TrainingState saved_;
  Logged logged_;
};

TEST_F(TrainerOrder, AnEpochIsSavedBeforeAndAfterItsEvaluation) {
  const TrainResult result = run();
  EXPECT_EQ(words_, (Words{"save 3 due", "evaluate", "keep 3", "save 3", "save 6 due",
                           "evaluate last", "keep 6", "save 6"}));
  EXPECT_EQ(considered_.size(), 2U);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(saved_.result.last_evaluation->step, 6U);
}

TEST_F(TrainerOrder, AStepThatIsNotEvaluatedIsSavedOnce) {
  eval_every_ = 2;
  run();
  EXPECT_EQ(words_, (Words{"save 3", "save 6 due", "evaluate last", "keep 6", "save 6"}));
}

TEST_F(TrainerOrder, AnEvaluationWithoutACheckpointIsSavedWhereItIsTheBest) {
  rules_.every = CheckpointInterval::parse("0");
  run();
  EXPECT_EQ(words_,
            (Words{"evaluate", "keep 3", "save 6 due", "evaluate last", "keep 6", "save 6"}));
  words_.clear();
  accuracy_rises_ = true;
  run();
  EXPECT_EQ(words_[2], "save 3");
}

TEST_F(TrainerOrder, ARunThatDiedInItsEvaluationGoesOnWithThat) {
  during_evaluation_ = [] { throw UnavailableError("no memory"); };
  EXPECT_THROW(run(), UnavailableError);
  EXPECT_EQ(words_, (Words{"save 3 due", "evaluate"}));
  words_.clear();
  during_evaluation_ = [] {};
  run(TrainingState::from_json(saved_.to_json()));
  EXPECT_EQ(words_, (Words{"evaluate", "keep 3", "save 3", "save 6 due", "evaluate last", "keep 6",
                           "save 6"}));
}

TEST_F(TrainerOrder, AStopWithinAnEvaluationLeavesItDue) {
  bool asked = false;
  rules_.is_stop_asked = [&] { return asked; };
  during_evaluation_ = [&] { asked = true; };
  EXPECT_TRUE(run().stopped);
  EXPECT_EQ(words_, (Words{"save 3 due", "evaluate", "save 3 due"}));
}

TEST_F(TrainerOrder, AStopBeforeTheLastEvaluationIsNoEnd) {
  rules_.is_stop_asked = [&] { return !words_.empty() && words_.back() == "save 3"; };
  plan_.steps = 4;
  EXPECT_TRUE(run().stopped);
  EXPECT_EQ(words_.back(), "save 4 due");
}

TEST_F(TrainerOrder, StepsBeforeAStopAreLogged) {
  log_every_ = 4;
  std::uint64_t stop_at = 5;
  rules_.is_stop_asked = [&] { return words_.size() >= stop_at; };
  during_evaluation_ = [&] { stop_at = 2; };
  EXPECT_TRUE(run().stopped);
  EXPECT_EQ(logged_, (Logged{{3, 12}})) << "within the evaluation";
  during_evaluation_ = [&] { stop_at = 100; };
  stop_at = 100;
  const TrainResult result = run(TrainingState::from_json(saved_.to_json()));
  EXPECT_EQ(logged_, (Logged{{3, 12}, {4, 4}, {6, 8}}));
  EXPECT_EQ(result.images_seen, 24U);
  logged_.clear();
  log_every_ = 0;
  stop_at = 0;
  EXPECT_TRUE(run().stopped);
  EXPECT_EQ(logged_, Logged{});
}

TEST_F(TrainerOrder, ARunThatNothingImprovesEndsEarlyAndStaysAtItsEnd) {
  plan_.steps = 30;
  early_stop_ = 2;
  rules_.every = CheckpointInterval::parse("0");
  accuracies_ = {0.5, 0.6, 0.6, 0.4};
  const TrainResult result = run();
  EXPECT_EQ(words_, (Words{"evaluate", "keep 3", "evaluate", "keep 6", "evaluate", "keep 9",
                           "evaluate", "keep 12", "save 12"}));
  EXPECT_TRUE(result.ended_early);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(saved_.best_accuracy, 0.6);
  words_.clear();
  EXPECT_TRUE(run(TrainingState::from_json(saved_.to_json())).ended_early);
  EXPECT_EQ(words_, Words{});
  early_stop_ = 3;
  accuracies_ = {0.6};
  EXPECT_TRUE(run(TrainingState::from_json(saved_.to_json())).ended_early);
  EXPECT_EQ(words_, (Words{"evaluate", "keep 15", "save 15"}));
}

TEST_F(TrainerOrder, AnEarlyEndHasItsLastEvaluation) {
  plan_.steps = 30;
  early_stop_ = 1;
  rules_.every = CheckpointInterval::parse("0");
  views_ = true;
  accuracies_ = {0.5, 0.5};
  run();
  EXPECT_EQ(words_, (Words{"evaluate", "keep 3", "evaluate", "evaluate last", "keep 6", "save 6"}));
  words_.clear();
  views_ = false;
  holds_out_ = true;
  accuracies_ = {0.5, 0.5, 0.9};  // of the test images, which decide nothing
  run();
  EXPECT_EQ(words_, (Words{"validate", "validate", "evaluate last", "keep 6", "save 6"}));
  EXPECT_EQ(saved_.evaluations_since_best, 1U);
  EXPECT_EQ(saved_.result.last_evaluation->accuracy, 0.9);
}

TEST_F(TrainerOrder, AnEvaluationThatAStopInterruptsCountsOnce) {
  plan_.steps = 30;
  early_stop_ = 1;
  holds_out_ = true;
  accuracies_ = {0.5, 0.5};
  bool asked = false;
  rules_.is_stop_asked = [&] { return asked; };
  during_evaluation_ = [&] { asked = true; };  // of the test images, after the validation images
  EXPECT_TRUE(run().stopped);
  EXPECT_EQ(words_.back(), "save 6 due");
  EXPECT_EQ(saved_.evaluations_since_best, 1U);
  words_.clear();
  asked = false;
  during_evaluation_ = [] {};
  accuracies_ = {0.5};
  EXPECT_TRUE(run(TrainingState::from_json(saved_.to_json())).ended_early);
  EXPECT_EQ(words_, (Words{"validate", "evaluate last", "keep 6", "save 6"}));
  EXPECT_EQ(saved_.evaluations_since_best, 1U);
}

TEST_F(TrainerOrder, AnEpochOfOtherImagesIsNotPassedOver) {
  shown_ = plan_;
  shown_->image_count = kCount - 1;
  try {
    run();
    FAIL() << "the epoch passed";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("each exactly once"), std::string::npos);
  }
}

TEST_F(TrainerOrder, BatchesThatEndBeforeTheRunAreNotPassedOver) {
  shown_ = plan_;
  shown_->steps = 2;
  try {
    run();
    FAIL() << "the run went on without images";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInternal);
    EXPECT_STREQ(error.what(), "step 3: the batches ended before the plan did");
  }
}

TEST_F(TrainerOrder, ARunThatIsPastItsEndIsEvaluatedAndDone) {
  TrainingState past;
  past.step = 5;
  past.evaluation_due = true;
  plan_.steps = 4;
  const TrainResult result = run(past);
  EXPECT_EQ(words_, (Words{"evaluate last", "keep 5", "save 5"}));
  EXPECT_FALSE(result.stopped);
}

TEST(TrainingState, KeepsWhatAnEvaluationFoundAndReadsStatesThatDoNot) {
  TrainingState state;
  state.result.last_evaluation = Evaluation{};
  state.result.last_evaluation->views_accuracy = 0.75;
  state.result.last_evaluation->step = 12;
  Json json = state.to_json();
  TrainingState read = TrainingState::from_json(json);
  EXPECT_EQ(read.result.last_evaluation->views_accuracy, 0.75);
  EXPECT_EQ(read.result.last_evaluation->step, 12U);
  EXPECT_FALSE(read.result.train_loss);
  json["last_evaluation"].erase("views_accuracy");
  json["last_evaluation"].erase("step");
  read = TrainingState::from_json(json);
  EXPECT_FALSE(read.result.last_evaluation->views_accuracy);
  EXPECT_EQ(read.result.last_evaluation->step, 0U);
}

}  // namespace
}  // namespace tandem::train
