#include "engine/run/run_closing.hpp"

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"
#include "support/train_options.hpp"
#include "tandem/core/file.hpp"

namespace tandem::app {
namespace {

class RunClosing : public ::testing::Test {
 protected:
  RunClosing() {
    config_.global_batch_size = 128;
    result_.steps = 3910;
    result_.epochs = 10;
    result_.train_seconds = 253.8;
    result_.images_per_second = 1969.4;
  }

  Closing closing() {
    arithmetic_ = train::BatchArithmetic::of(config_, 50'000, 2);
    return {config_, arithmetic_, 50'000, result_, best_, "runs/first", "", "", ""};
  }

  train::TrainConfig config_;
  train::BatchArithmetic arithmetic_;
  train::TrainResult result_;
  metrics::BestEvaluation best_;

  std::string complete(const Json& summary, std::uint64_t schedule_steps) {
    const auto arithmetic = train::BatchArithmetic::of(config_, 50'000, 2);
    return describe_complete("runs/first", summary, config_, arithmetic, schedule_steps);
  }
};

TEST_F(RunClosing, CountsStepsImagesAndEpochs) {
  EXPECT_EQ(closing().accounting(), "3,910 steps, every image exactly once in each of 10 epochs");
  result_.steps = 391;
  EXPECT_EQ(closing().accounting(), "391 steps, every image exactly once in 1 epoch");
  result_.steps = 393;
  EXPECT_EQ(closing().accounting(),
            "393 steps, every image exactly once in 1 epoch, then 256 of 50,000 images");
  result_.steps = 1;
  EXPECT_EQ(closing().accounting(), "1 step, 128 of 50,000 images, each exactly once");
  config_.drop_last = true;
  result_.steps = 780;
  EXPECT_EQ(closing().accounting(),
            "780 steps, 49,920 of 50,000 images exactly once in each of 2 epochs");
}

TEST_F(RunClosing, OfACompleteRunHasResultsPathsAndTheCommandThatEvaluates) {
  train::Evaluation evaluation;
  evaluation.accuracy = 0.69731;
  evaluation.views_accuracy = 0.7;
  result_.last_evaluation = evaluation;
  best_ = {"test", 0.7012, 9};
  Closing end = closing();
  end.model = "runs/first/model/model.safetensors";
  end.report = "runs/first/report.html";
  end.command = eval_command("mpirun -np 2 tandem", "my data.h5", "runs/first");
  EXPECT_EQ(end.text(),
            "3,910 steps, every image exactly once in each of 10 epochs\n\n"
            "done: 3,910 steps in 253.8 s, 1,969 images/s; runs/first\n"
            "  test accuracy  0.6973, 0.7000 with test-time augmentation, best 0.7012 after epoch "
            "9\n"
            "  model          runs/first/model/model.safetensors\n"
            "  report         runs/first/report.html\n"
            "  evaluate       mpirun -np 2 tandem eval --data 'my data.h5' --checkpoint "
            "runs/first");
}

TEST_F(RunClosing, OfAStoppedRunHasTheCommandThatGoesOn) {
  result_.stopped = true;
  result_.steps = 1448;
  result_.epochs = 3.7033;
  result_.images_per_second = 0;
  result_.last_validation = train::Evaluation();
  result_.last_validation->accuracy = 0.6;
  best_ = {"validation", 0.6, 3};
  Closing end = closing();
  end.command = "tandem train --resume auto";
  EXPECT_EQ(end.text(),
            "stopped: 1,448 steps in 253.8 s; runs/first\n"
            "  stopped at           epoch 3.70, step 1,448 of 3,910\n"
            "  validation accuracy  0.6000, the best of the run\n"
            "  go on                tandem train --resume auto");
}

TEST(DescribeLateStart, NamesTheOptionsThatLeftNoTime) {
  const auto described = [](const Arguments& words, double seconds) {
    const Options options = testing::options_of(words);
    return describe_late_start({testing::request_of(words), options, words, {}}, seconds);
  };
  EXPECT_EQ(described({}, 1e6), "");
  EXPECT_EQ(described({"--max-time", "1:00"}, 29.9), "");
  EXPECT_EQ(described({"--max-time", "1:00"}, 30),
            "--max-time 1:00: the start took 30.0 s and --stop-margin keeps 30 s, so no step was "
            "trained; fix: a longer --max-time");
}

TEST_F(RunClosing, OfARunWithNothingLeftToDoSaysHowItGoesOn) {
  const Json summary{{"steps", 3910}, {"test_accuracy", 0.6973}};
  EXPECT_EQ(complete(summary, 3910),
            "The run runs/first is complete: 3,910 steps, test accuracy 0.6973.\n"
            "To go on with it, repeat the command with more --epochs (now 10).");
  config_.max_steps = 1;
  EXPECT_EQ(complete({{"steps", 1}, {"test_accuracy", nullptr}}, 1),
            "The run runs/first is complete: 1 step.\n"
            "To go on with it, repeat the command with more --max-steps (now 1).");
  config_.max_steps = 1'000'000;
  EXPECT_NE(complete(summary, 3910).find("more --epochs (now 10)."), std::string::npos)
      << "more --max-steps would change nothing";
  config_.epochs = 3;
  EXPECT_NE(complete(summary, 3910).find("more --epochs (now 3, and the run has done 10)."),
            std::string::npos);
  config_.max_steps = 2;
  EXPECT_NE(complete(summary, 3910).find("--max-steps (now 2, and the run has done 3910)."),
            std::string::npos);
}

TEST_F(RunClosing, OfARunThatEndedEarlyNamesTheOption) {
  config_.early_stop = 3;
  result_.steps = 1564;
  result_.epochs = 4;
  result_.ended_early = true;
  EXPECT_NE(closing().text().find("\n  ended early  epoch 4 of 10, by --early-stop 3"),
            std::string::npos)
      << closing().text();
  EXPECT_EQ(complete({{"ended_early", true}, {"steps", 1564}, {"test_accuracy", 0.5}}, 3910),
            "The run runs/first is complete: 1,564 steps, test accuracy 0.5000.\n"
            "It ended early, by --early-stop 3. To go on with it, repeat the command with a larger "
            "one, or 0.");
}

TEST_F(RunClosing, OfARunWhoseRateHasComeTo0NamesTheNewSchedule) {
  const Json summary{{"steps", 3910}, {"test_accuracy", 0.6973}};
  for (const char* name : {"cosine", "linear", "triangle"}) {
    config_.schedule.name = name;
    EXPECT_EQ(complete(summary, 3910),
              "The run runs/first is complete: 3,910 steps, test accuracy 0.6973.\n"
              "To go on with it, repeat the command with more --epochs (now 10) and "
              "--new-schedule: the rate of " +
                  std::string(name) + " has come to 0.");
    EXPECT_EQ(complete(summary, 7820).find("--new-schedule"), std::string::npos)
        << "a run that was shortened has some of its schedule left";
  }
  config_.schedule.name = "step";
  EXPECT_EQ(complete(summary, 3910).find("--new-schedule"), std::string::npos);
}

TEST(BestOf, ReadsTheEvaluationsOfEarlierStarts) {
  const testing::TempDir folder;
  const auto run = metrics::RunFolder::create(folder / "runs", "a");
  EXPECT_EQ(best_of(run).of, "");
  write_file_atomically(
      run.metrics_path(),
      "{\"event\":\"eval\",\"step\":4,\"epoch\":1,\"time\":1,\"test_accuracy\":0.5}\n"
      "{\"event\":\"eval\",\"step\":8,\"epoch\":2,\"time\":2,\"test_accuracy\":0.7}\n"
      "{\"event\":\"eval\",\"step\":12,\"epoch\":3,\"time\":3,\"test_accuracy\":0.6}\n");
  const metrics::BestEvaluation best = best_of(run);
  EXPECT_EQ(best.of, "test");
  EXPECT_EQ(best.accuracy, 0.7);
  EXPECT_EQ(best.epoch, 2);
}

}  // namespace
}  // namespace tandem::app
