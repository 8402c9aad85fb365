#include "engine/run/run_start.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "engine/run/kept_choices.hpp"
#include "engine/run/resume_check.hpp"
#include "engine/run/saved_options.hpp"
#include "engine/run/start_report.hpp"
#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "support/train_options.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

namespace fs = std::filesystem;
using testing::FailingCalls;
using testing::options_of;

class RunStartTest : public ::testing::Test {
 protected:
  RunStartTest() {
    reporting_.run_id = "a";
    reporting_.runs_dir = folder_ / "runs";
    reporting_.resume = "auto";
  }

  std::string run(const std::string& name = "") const { return folder_ / ("runs/a" + name); }
  std::string checkpoint(const std::string& name) const { return run("/checkpoints/" + name); }

  void save(std::uint64_t step, std::map<std::string, std::string> metadata, bool is_best = false) {
    train::Checkpoint checkpoint;
    checkpoint.tensors = {{"weight", torch::ones({2}), false}};
    checkpoint.metadata = std::move(metadata);
    checkpoint.state.step = step;
    checkpoint.state.loss_scale = {512, 3};
    checkpoint.is_best = is_best;
    train::CheckpointStore(run("/checkpoints")).write(checkpoint, {});
  }
  void save(std::uint64_t step, bool is_best = false) {
    save(step, {{"global_batch", "64"}, {"optimizer_steps", "9"}, {"bucket_mb", "0.5"}}, is_best);
  }
  void make_run() { metrics::RunFolder::create(reporting_.runs_dir, "a"); }
  void damage(const std::string& name) {
    fs::resize_file(checkpoint(name), fs::file_size(checkpoint(name)) - 1);
  }

  RunStart start(const std::string& resume = "auto") {
    reporting_.resume = resume;
    return find_start_alone(reporting_);
  }
  // Exit code and message of a failing start.
  std::pair<int, std::string> refusal(const std::string& resume = "auto") {
    try {
      start(resume);
    } catch (const Error& error) {
      return {static_cast<int>(error.code()), error.what()};
    }
    return {0, ""};
  }
  void expect_refusal(int code, const std::string& part, const std::string& resume = "auto") {
    const auto [found, message] = refusal(resume);
    EXPECT_EQ(found, code) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  testing::TempDir folder_;
  TrainReporting reporting_;
};

// As a cleaner of old files does, or a copy that leaves large ones out.
TEST_F(RunStartTest, ARunWhoseCheckpointsAreGoneDoesNotBeginAnew) {
  make_run();
  const std::string metrics = run("/metrics.jsonl");
  write_file_atomically(metrics, "{\"event\":\"warning\",\"step\":1,\"text\":\"disk full\"}\n");
  EXPECT_FALSE(start().resumes) << "no checkpoint was ever saved";
  write_file_atomically(metrics, "{\"event\":\"checkpoint\",\"step\":3,\"text\":\"x\"}\n");
  expect_refusal(65, "metrics.jsonl names some");
  save(3);
  EXPECT_EQ(start().state.step, 3U);
}

TEST_F(RunStartTest, ARunThatIsNotThereBegins) {
  for (const char* resume : {"none", "auto"}) {
    const RunStart begun = start(resume);
    EXPECT_EQ(begun.run_id, "a");
    EXPECT_EQ(begun.runs_dir, reporting_.runs_dir);
    EXPECT_FALSE(begun.resumes);
    EXPECT_FALSE(begun.folder);
    EXPECT_FALSE(file_exists(run())) << "nothing is left behind";
  }
  reporting_.run_id = "";
  EXPECT_FALSE(start("none").run_id.empty());
  expect_refusal(2, "needs a --run-id");
}

TEST_F(RunStartTest, AutoSaysThatItFoundNothing) {
  const std::string nothing = "nothing to resume in " + run() + ": starting at step 0";
  EXPECT_EQ(describe_nothing_found(start()), nothing);
  EXPECT_TRUE(start().is_auto);
  EXPECT_FALSE(start("none").is_auto);
  EXPECT_FALSE(file_exists(folder_ / "runs")) << "nothing is left behind";
  metrics::RunFolder::create(reporting_.runs_dir, "first").write_config("epochs = 1\n");
  EXPECT_EQ(describe_nothing_found(start()), nothing);
  reporting_.run_id = "frist";
  EXPECT_EQ(describe_nothing_found(start()),
            "nothing to resume in " + reporting_.runs_dir +
                "/frist: starting at step 0; did you mean --run-id first?");
  metrics::RunFolder::create(reporting_.runs_dir, "seed-1").write_config("epochs = 1\n");
  reporting_.run_id = "seed-2";
  EXPECT_FALSE(start().similar_run) << "the next of a series";
}

TEST_F(RunStartTest, AKilledRunIsKnownByItsMetrics) {
  make_run();
  EXPECT_FALSE(start().killed_after) << "it did no step";
  write_file_atomically(run("/metrics.jsonl"), "{\"event\":\"step\",\"step\":210}\n");
  EXPECT_EQ(describe_nothing_found(start()),
            "nothing to resume in " + run() +
                ": starting at step 0; the run was killed at step 210 or later, before its first "
                "checkpoint");
  save(200);
  EXPECT_EQ(start().killed_after, 210U);
  write_file_atomically(run("/summary.json"), R"({"steps": 210, "exit_reason": "stopped"})");
  EXPECT_FALSE(start().killed_after);
}

TEST_F(RunStartTest, MoreStepsThanAreAskedForAreSaid) {
  make_run();
  save(54);
  EXPECT_EQ(describe_surplus(start(), 54), "");
  EXPECT_EQ(describe_surplus(start(), 20),
            "the run has done 54 steps, and 20 are asked for: nothing is left to train");
}

TEST_F(RunStartTest, NoneTouchesNoRun) {
  make_run();
  expect_refusal(73, "holds a run already", "none");
}

TEST_F(RunStartTest, AutoTakesWhatTheCheckpointHolds) {
  make_run();
  save(10);
  save(20);
  const RunStart found = start();
  EXPECT_TRUE(found.resumes);
  EXPECT_EQ(found.state.step, 20U);
  EXPECT_EQ(found.checkpoint_path, checkpoint("step-00000020.safetensors"));
  EXPECT_EQ(found.global_batch, 64U);
  EXPECT_EQ(found.optimizer_steps, 9U);
  EXPECT_EQ(found.bucket_mb, 0.5);
  EXPECT_FALSE(found.schedule_steps) << "an earlier version wrote none";
  EXPECT_EQ(found.refused, "");
  EXPECT_TRUE(found.folder);
}

TEST_F(RunStartTest, ARunKeepsItsConvolutions) {
  make_run();
  save(10);
  EXPECT_EQ(start().convolution, model::ConvolutionChoice::kDirect) << "an earlier version";
  save(20, {{"global_batch", "64"}, {"optimizer_steps", "9"}, {"convolution", "auto"}});
  EXPECT_EQ(start().convolution, model::ConvolutionChoice::kAuto);
  save(30, {{"global_batch", "64"}, {"optimizer_steps", "9"}, {"convolution", "new"}});
  try {
    start();
    FAIL() << "it was taken";
  } catch (const DataError& error) {
    EXPECT_NE(
        std::string(error.what()).find("step-00000030.safetensors: its metadata: convolution"),
        std::string::npos)
        << error.what();
  }
}

TEST_F(RunStartTest, EveryRankGetsItsPart) {
  make_run();
  save(20);
  const RunStart found = start();
  RunStart other;
  take_shared_part(Json::parse(shared_part(found).dump()), other);
  EXPECT_EQ(other.run_id, "a");
  EXPECT_TRUE(other.resumes);
  EXPECT_EQ(other.global_batch, 64U);
  EXPECT_EQ(other.optimizer_steps, 9U);
  EXPECT_EQ(other.bucket_mb, 0.5);
  EXPECT_EQ(other.convolution, model::ConvolutionChoice::kDirect);
  EXPECT_EQ(other.state.step, 20U);
  EXPECT_FALSE(other.state.evaluation_due);
  EXPECT_EQ(other.state.loss_scale.scale, 512);
  EXPECT_EQ(other.state.loss_scale.good_steps, 3);
  RunStart due;
  due.state.evaluation_due = true;
  take_shared_part(shared_part(due), other);
  EXPECT_TRUE(other.state.evaluation_due);
  EXPECT_FALSE(other.resumes);
  RunStart anew;
  take_shared_part(shared_part(due), anew);
  EXPECT_FALSE(anew.bucket_mb);
}

TEST_F(RunStartTest, OldCheckpointsHaveNoBucketAndAllHaveTheirNumbers) {
  make_run();
  save(20, {{"global_batch", "64"}, {"optimizer_steps", "9"}});
  EXPECT_FALSE(start().bucket_mb);
  for (const char* bad : {"-1", "x", "", "1099511627777"}) {
    save(30, {{"global_batch", bad}, {"optimizer_steps", "9"}});
    expect_refusal(65, "has no number 'global_batch'");
  }
  save(30, {{"global_batch", "64"}});
  expect_refusal(65, "has no number 'optimizer_steps'");
  save(40, {{"global_batch", "64"}, {"optimizer_steps", "9"}, {"schedule_steps", "x"}});
  expect_refusal(65, "has no number 'schedule_steps'");
  save(50, {{"global_batch", "64"}, {"optimizer_steps", "9"}, {"schedule_steps", "800"}});
  EXPECT_EQ(start().schedule_steps, 800U);
}

TEST_F(RunStartTest, DamageIsSaidAndAnOlderOneTaken) {
  make_run();
  save(10);
  save(20, true);
  save(30);
  damage("step-00000030.safetensors");
  const RunStart found = start();
  EXPECT_EQ(found.state.step, 20U);
  EXPECT_NE(found.refused.find("step-00000030"), std::string::npos);
}

TEST_F(RunStartTest, TheBestAloneIsEnough) {
  make_run();
  save(20, true);
  fs::remove(checkpoint("step-00000020.safetensors"));
  EXPECT_EQ(start().state.step, 20U);
}

TEST_F(RunStartTest, IsNotStartedAnewWhereSomethingWasSaved) {
  make_run();
  EXPECT_FALSE(start().resumes) << "nothing was";
  save(10);
  damage("step-00000010.safetensors");
  expect_refusal(65, "no checkpoint of the run is valid");
  fs::create_directory(checkpoint("superseded-1"));
  fs::rename(checkpoint("step-00000010.safetensors"),
             checkpoint("superseded-1/step-00000010.safetensors"));
  expect_refusal(65, "its superseded-N folders");
  fs::remove(checkpoint("superseded-1/step-00000010.safetensors"));
  write_file_atomically(checkpoint("superseded-1/metrics.jsonl"), "");
  EXPECT_FALSE(start().resumes) << "metrics of a run that never saved are no checkpoint";
}

TEST_F(RunStartTest, AReadThatFailsEndsWith74AndTouchesNothing) {
  make_run();
  save(10);
  save(20);
  write_file_atomically(run("/metrics.jsonl"), "{\"event\":\"step\",\"step\":20}\n");
  for (const int error : {EIO, EACCES, ESTALE, EMFILE}) {
    const FailingCalls calls("open", "step-00000020", error);
    expect_refusal(74, "step-00000020");
  }
  EXPECT_FALSE(file_exists(checkpoint("superseded-1")));
  EXPECT_EQ(start().state.step, 20U);
}

TEST_F(RunStartTest, APathNamesRunAndCheckpoint) {
  make_run();
  save(10, true);
  save(20);
  reporting_.run_id = "";
  reporting_.runs_dir = "elsewhere";
  const RunStart found = start(checkpoint("best.safetensors"));
  EXPECT_EQ(found.run_id, "a");
  EXPECT_EQ(found.runs_dir, fs::canonical(folder_ / "runs").string());
  EXPECT_EQ(found.state.step, 10U);
  EXPECT_EQ(found.checkpoint_path, fs::canonical(checkpoint("best.safetensors")).string());
}

TEST_F(RunStartTest, APathThatIsNoneOfTheRunIsRefused) {
  make_run();
  save(10);
  for (const std::string& name :
       {std::string("step-00000099.safetensors"), std::string(300, 'a')}) {
    expect_refusal(66, "is not there", checkpoint(name));
  }
  fs::copy_file(checkpoint("step-00000010.safetensors"), folder_ / "step.safetensors");
  expect_refusal(2, "auto, none or a runs/ID/checkpoints", folder_ / "step.safetensors");
  reporting_.run_id = "b";
  expect_refusal(2, "belongs to the run a, --run-id names b",
                 checkpoint("step-00000010.safetensors"));
  reporting_.run_id = "a";
  damage("step-00000010.safetensors");
  expect_refusal(65, "step-00000010", checkpoint("step-00000010.safetensors"));
}

TEST_F(RunStartTest, OpenFolderMakesANewOne) {
  RunStart begun = start();
  const metrics::RunFolder folder = open_folder(begun);
  EXPECT_EQ(folder.path(), run());
  EXPECT_TRUE(is_folder(run("/model")));
}

// If it is killed at any call, the same command resumes from a checkpoint, and no line is lost.
TEST_F(RunStartTest, OpenFolderCanBeEndedAtEachCall) {
  const std::string three =
      "{\"event\":\"step\",\"step\":10}\n{\"event\":\"step\",\"step\":20}\n"
      "{\"event\":\"step\",\"step\":30}\n";
  int ended = 0;
  for (const char* call : {"open", "rename", "link", "mkdir", "fsync", "unlink"}) {
    for (int number = 0;; ++number) {
      ASSERT_LT(number, 100);
      fs::remove_all(folder_ / "runs");
      make_run();
      save(10, true);
      fs::remove(checkpoint("step-00000010.safetensors"));
      save(20);
      save(30);
      write_file_atomically(run("/metrics.jsonl"), three);
      write_file_atomically(run("/summary.json"), R"({"steps": 30, "exit_reason": "completed"})");
      write_file_atomically(run("/evaluation.json"), R"({"step": 30})");
      RunStart found = start(checkpoint("best.safetensors"));
      bool failed = false;
      {
        const testing::FailOnce calls(call, "runs/a", EIO, number);
        try {
          open_folder(found);
        } catch (const Error&) {
          failed = true;
        }
      }
      found.folder.reset();  // the lock
      std::string lines;
      for (const auto& entry : fs::recursive_directory_iterator(run())) {
        if (entry.path().filename() == "metrics.jsonl") lines += read_file(entry.path());
      }
      for (const char* step : {"10}", "20}", "30}"}) {
        EXPECT_NE(lines.find(step), std::string::npos) << call << number << " lost step " << step;
      }
      const RunStart again = start();
      EXPECT_TRUE(again.resumes) << call << number;
      EXPECT_GE(again.state.step, 10U);
      // The metrics up to the checkpoint's step are still there.
      EXPECT_NE(read_file(run("/metrics.jsonl")).find(std::to_string(again.state.step) + "}"),
                std::string::npos)
          << call << number;
      if (!failed) {
        EXPECT_EQ(again.state.step, 10U);
        EXPECT_FALSE(file_exists(run("/summary.json")));
        EXPECT_EQ(read_file(run("/metrics.jsonl")), three.substr(0, 27));
        break;
      }
      ++ended;
    }
  }
  EXPECT_GT(ended, 20);
}

TEST_F(RunStartTest, AnewAllThatWasMeasuredMovesAside) {
  make_run();
  write_file_atomically(run("/metrics.jsonl"), "{\"event\":\"step\",\"step\":1}\n");
  RunStart begun = start();
  ASSERT_TRUE(begun.folder);
  open_folder(begun);
  EXPECT_EQ(read_file(run("/metrics.jsonl")), "");
  EXPECT_TRUE(file_exists(checkpoint("superseded-1/metrics.jsonl")));
}

TEST_F(RunStartTest, ACompleteRunHasItsSummary) {
  make_run();
  EXPECT_TRUE(complete_summary(start(), 0).is_null()) << "it resumes nothing";
  save(20);
  EXPECT_TRUE(complete_summary(start(), 20).is_null()) << "there is none";
  write_file_atomically(run("/summary.json"), R"({"exit_reason": "stopped", "steps": 20})");
  EXPECT_TRUE(complete_summary(start(), 20).is_null());
  write_file_atomically(run("/summary.json"), R"({"exit_reason": "completed", "steps": 10})");
  EXPECT_TRUE(complete_summary(start(), 20).is_null()) << "it is that of an earlier end";
  write_file_atomically(run("/summary.json"), R"({"exit_reason": "completed", "steps": 20})");
  EXPECT_EQ(text_of(complete_summary(start(), 20), "exit_reason"), "completed");
  EXPECT_EQ(text_of(complete_summary(start(), 19), "exit_reason"), "completed");
  EXPECT_TRUE(complete_summary(start(), 21).is_null()) << "more is asked for";
  RunStart due = start();
  due.state.evaluation_due = true;
  EXPECT_TRUE(complete_summary(due, 20).is_null()) << "the checkpoint of its end was lost";
}

using Values = std::map<std::string, std::string>;

// The checkpoint of a run that began with other values of cifar10-fast.
class KeptRecipeTest : public RunStartTest {
 protected:
  Values kept(std::vector<std::string> now, const std::string& recipe = "cifar10-fast") {
    now.insert(now.begin(), {"--recipe", recipe});
    Options options = options_of(std::move(now));
    return recipe_values_to_keep(start(), options);
  }
  void begin(std::vector<std::string> then, const std::string& epochs,
             const std::string& global_batch = "2000") {
    then.insert(then.begin(), {"--recipe", "cifar10-fast"});
    make_run();
    save(20, {{"global_batch", global_batch},
              {"optimizer_steps", "20"},
              {"options", options_to_save(options_of(std::move(then)))}});
    write_file_atomically(run("/config.ini"), "epochs = " + epochs + "\n");
  }
};

TEST_F(KeptRecipeTest, ValuesOfTheRunStayWhereOnlyTheRecipeGivesOthers) {
  begin({"--early-epochs", "5", "--head-lr", "0.6"}, "12");
  EXPECT_EQ(kept({}), (Values{{"early-epochs", "5"}, {"epochs", "12"}, {"head-lr", "0.6"}}));
  EXPECT_EQ(kept({"--head-lr", "0.7", "--epochs", "3"}), (Values{{"early-epochs", "5"}}));
  EXPECT_EQ(kept({"--new-schedule"}), (Values{{"early-epochs", "5"}, {"head-lr", "0.6"}}));
  EXPECT_EQ(kept({"--schedule", "constant"}), (Values{{"early-epochs", "5"}, {"head-lr", "0.6"}}))
      << "a run without a length may go on as long as the recipe says";
  EXPECT_EQ(kept({}, std::string(TANDEM_RECIPES) + "/cifar10-fast.conf"), Values())
      << "a user's file is a request";
  EXPECT_EQ(kept({}, "cifar10-resnet18"), Values()) << "a recipe for another network";
}

TEST_F(KeptRecipeTest, TheGlobalBatchStays) {
  begin({}, "8", "512");
  EXPECT_EQ(kept({}), (Values{{"global-batch-size", "512"}}));
  EXPECT_EQ(kept({"--global-batch-size", "1000"}), Values()) << "the user's own is compared";
  EXPECT_EQ(kept({"--batch-size", "32"}), Values());
}

TEST_F(KeptRecipeTest, TheScheduleOfTheRunDecidesAboutItsDuration) {
  begin({"--schedule", "triangle"}, "12");
  EXPECT_EQ(kept({}), (Values{{"epochs", "12"}, {"schedule", "triangle"}}));
}

TEST_F(KeptRecipeTest, AScheduleWithoutALengthKeepsNoDuration) {
  begin({"--schedule", "constant"}, "12");
  EXPECT_EQ(kept({}), (Values{{"schedule", "constant"}}));
}

TEST_F(KeptRecipeTest, AnUnreadableDurationIsTheRecipes) {
  begin({}, "soon");
  EXPECT_EQ(kept({}), Values());
}

class RunIdentityTest : public ::testing::Test {
 protected:
  RunIdentityTest() {
    start_.resumes = true;
    start_.global_batch = 64;
    start_.checkpoint.emplace();
    start_.checkpoint->metadata = {{"dataset_digest", "d1"}, {"options", options_to_save(then_)}};
  }
  std::string differences(std::vector<std::string> arguments, const std::string& digest = "d1",
                          const std::string& network = "", std::uint64_t batch = 64) {
    info_.digest = digest;
    return join(differences_from(start_, options_of(std::move(arguments)), info_, network, batch),
                "; ");
  }

  Options then_ = options_of({"--lr", "0.05"});
  RunStart start_;
  data::DatasetInfo info_ = [] {
    data::DatasetInfo info;
    info.digest = "d1";
    info.train_bytes = 1;  // picture files
    return info;
  }();
};

TEST_F(RunIdentityTest, NamesEveryDifference) {
  EXPECT_EQ(differences({"--lr", "5e-2", "--epochs", "7", "--threads", "2"}), "");
  EXPECT_EQ(differences({"--lr", "0.06", "--seed", "2"}),
            "--seed: the run has '1', now '2' is asked for; "
            "--lr: the run has '0.05', now '0.06' is asked for");
  EXPECT_EQ(differences({"--lr", "0.05"}, "d2", "", 32),
            "data set digest: the run has 'd1', now 'd2' is asked for; "
            "global batch: the run has '64', now '32' is asked for");
}

TEST_F(RunIdentityTest, OptionsOfPictureFilesMayDifferForPixels) {
  const std::vector<std::string> others{"--lr",         "0.05",  "--read-lanes", "8",
                                        "--shuffle-mb", "9",     "--decode",     "scaled",
                                        "--eval-crop",  "center"};
  EXPECT_EQ(differences(others),
            "--decode: the run has 'exact', now 'scaled' is asked for; "
            "--eval-crop: the run has 'none', now 'center' is asked for; "
            "--read-lanes: the run has '64', now '8' is asked for; "
            "--shuffle-mb: the run has '256', now '9' is asked for");
  info_.train_bytes = 0;
  EXPECT_EQ(differences(others), "");
}

// A checkpoint's format. An option that is fixed from now on belongs here and in the changelog.
TEST_F(RunIdentityTest, CheckpointsKeepEveryFixedOption) {
  std::vector<std::string> names;
  const Json kept = Json::parse(options_to_save(then_));
  for (const auto& [name, value] : kept.items()) names.push_back(name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(join(names, " "),
            "augment beta1 beta2 bias-lr class-weights clip-norm decode drop-last early-epochs ema "
            "epsilon eval-crop freeze head-lr hidden label-smoothing loss lr lr-reference-batch "
            "lr-scale model "
            "momentum nesterov optimizer polynomial-power precision read-lanes schedule seed "
            "sgd-momentum shuffle-mb stem step-epochs "
            "step-gamma sync-bn trust-coefficient validation-split virtual-ranks warmup-epochs "
            "weight-decay");
}

TEST_F(RunIdentityTest, ANetworkFileIsWhatItHolds) {
  start_.checkpoint->metadata["network_sha256"] = "n1";
  EXPECT_EQ(differences({"--lr", "0.05", "--model", "other.pt"}, "d1", "n1"), "");
  EXPECT_EQ(differences({"--lr", "0.05", "--model", "other.pt"}, "d1", "n2"),
            "SHA-256 of the network: the run has 'n1', now 'n2' is asked for");
  EXPECT_NE(differences({"--lr", "0.05", "--model", "mlp"}), "") << "no file any more";
}

TEST_F(RunIdentityTest, OptionsOfEarlierCheckpointsMayHaveAnAlias) {
  OptionSpec renamed{"rate", "X", "0.1", "help", "optimizer", kOfResult};
  renamed.aliases = {"lr"};
  const OptionTable table{renamed};
  const auto differences_of = [&](const std::string& rate) {
    const Options options(table, {{"rate", {rate, Origin::kCommandLine}}});
    return join(differences_from(start_, options, info_, "", 64), "; ");
  };
  start_.checkpoint->metadata["options"] = R"({"lr": "0.05"})";
  EXPECT_EQ(differences_of("0.05"), "");
  EXPECT_EQ(differences_of("0.1"), "--rate: the run has '0.05', now '0.1' is asked for");
  start_.checkpoint->metadata["options"] = R"({"lr": "0.05", "rate": "0.1"})";
  EXPECT_EQ(differences_of("0.1"), "") << "the name is stronger";
}

TEST_F(RunIdentityTest, ConvolutionsStayUnlessTheyAreNamed) {
  const auto kept = [this](std::vector<std::string> arguments) {
    Options options = options_of(std::move(arguments));
    train::TrainConfig config;
    config.convolution = model::parse_convolution(options.text("convolution"));
    keep_convolution(start_, options, config);
    EXPECT_EQ(options.text("convolution"), name_of(config.convolution));
    return options.text("convolution");
  };
  start_.convolution = model::ConvolutionChoice::kDirect;
  EXPECT_EQ(kept({}), "direct");
  EXPECT_EQ(kept({"--convolution", "auto"}), "auto");
  start_.convolution = model::ConvolutionChoice::kAuto;
  EXPECT_EQ(kept({}), "auto");
  EXPECT_EQ(kept({"--convolution", "direct"}), "direct");
}

TEST_F(RunIdentityTest, OptionsThatTheRunDidNotKnowHadTheirDefaults) {
  start_.checkpoint->metadata["options"] = R"({"lr": "0.05"})";
  EXPECT_EQ(differences({"--lr", "0.05", "--read-lanes", "0"}), "");
  EXPECT_EQ(differences({"--lr", "0.05", "--read-lanes", "64"}),
            "--read-lanes: the run has '0', now '64' is asked for")
      << "keep_lanes() takes 0 unless it is given";
  EXPECT_NE(differences({"--lr", "0.05", "--read-lanes", "0", "--seed", "2"}), "");
  start_.checkpoint->metadata.erase("options");
  EXPECT_TRUE(saved_options(start_).is_null());
}

}  // namespace
}  // namespace tandem::app
