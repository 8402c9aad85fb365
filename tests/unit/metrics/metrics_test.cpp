#include <gtest/gtest.h>

#include <sstream>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/metrics/json_lines.hpp"
#include "tandem/metrics/run_folder.hpp"

namespace tandem::metrics {
namespace {

using tandem::testing::TempDir;

TEST(JsonLines, WritesOneObjectALine) {
  const TempDir folder;
  JsonLinesSink sink(folder / "metrics.jsonl", {}, nullptr);
  StepRecord step;
  step.step = 3;
  step.epoch = 0.5;
  step.loss = 1.25;
  step.accuracy = 0.1;
  step.learning_rate = 0.05;
  step.images_per_second = 100;
  step.gradient_norm = 2.5;
  sink.on_step(step);
  sink.on_epoch({4, 1.0, 50, 1.5, 0.2, 2.5, {}});
  sink.on_evaluation({4, 1.0, "test", 1.75, 0.25, 5, 20, 0.5});
  sink.on_evaluation({4, 1.0, "validation", 1.5, 0.75, 15, 20, 0.5});
  std::istringstream lines(read_file(folder / "metrics.jsonl"));
  std::vector<Json> found;
  for (std::string line; std::getline(lines, line);) found.push_back(Json::parse(line));
  ASSERT_EQ(found.size(), 4U);
  for (const Json& line : found) {
    for (const char* key : {"event", "step", "epoch", "time"}) EXPECT_TRUE(line.contains(key));
  }
  EXPECT_EQ(found[0]["event"], "step");
  EXPECT_EQ(found[0]["step"], 3);
  EXPECT_EQ(found[0]["loss"], 1.25);
  EXPECT_EQ(found[0]["lr"], 0.05);
  EXPECT_EQ(found[0]["images_per_second"], 100);
  EXPECT_EQ(found[0]["grad_norm"], 2.5);
  EXPECT_EQ(found[1]["event"], "epoch");
  EXPECT_EQ(found[2]["event"], "eval");
  EXPECT_EQ(found[2]["test_loss"], 1.75);
  EXPECT_EQ(found[2]["test_accuracy"], 0.25);
  EXPECT_EQ(found[3]["event"], "eval");
  EXPECT_EQ(found[3]["validation_loss"], 1.5);
  EXPECT_EQ(found[3]["validation_accuracy"], 0.75);
  EXPECT_FALSE(found[3].contains("test_loss"));
}

TEST(RunFolder, RefusesRunIdsThatLeaveTheFolder) {
  for (const char* id : {"", ".", "..", ".hidden", "a/b", "../x", "a b", "a\n", "\xC3\xA4"}) {
    EXPECT_THROW(check_run_id(id), UsageError) << id;
  }
  EXPECT_THROW(check_run_id(std::string(65, 'a')), UsageError);
  for (const char* id : {"a", "Run-1.2_3", "20260314-091500-1f3a"})
    EXPECT_NO_THROW(check_run_id(id));
  EXPECT_NO_THROW(check_run_id(make_run_id()));
}

TEST(RunFolder, LeavesAnExistingRunAsItIs) {
  const TempDir folder;
  const auto run = RunFolder::create(folder / "runs/deep", "one");
  run.write_config("a = 1\n");
  EXPECT_THROW(RunFolder::create(folder / "runs/deep", "one"), CannotCreateError);
  EXPECT_EQ(read_file(run.path() + "/config.ini"), "a = 1\n");
}

TEST(RunFolder, NamesTheModelFileAfterTheDataSet) {
  const TempDir folder;
  const auto run = RunFolder::create(folder / "runs", "one");
  EXPECT_EQ(run.pth_path("cifar10"), run.path() + "/model/cifar_net.pth");
  EXPECT_EQ(run.pth_path("mnist"), run.path() + "/model/mnist_net.pth");
  EXPECT_EQ(run.pth_path("../../x"), run.path() + "/model/______x_net.pth");
}

}  // namespace
}  // namespace tandem::metrics
