#include "tandem/metrics/run_record.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/metrics/run_folder.hpp"

namespace tandem::metrics {
namespace {

using tandem::testing::TempDir;

TEST(RunRecord, IsWhatTheRunWrote) {
  const TempDir folder;
  {
    const auto run = RunFolder::create(folder / "runs", "one");
    run.write_config("# a comment\nmodel = mlp\n\nlr=0.1 = x\nno option\n");
    run.write_manifest({{"run_id", "one"}, {"segments", {{{"started", 1000.5}}}}});
    for (const int rank : {2, 0, 10}) write_file_atomically(run.rank_metrics_path(rank), "");
    write_file_atomically(run.path() + "/ranks/rank-x.jsonl", "");
    EXPECT_EQ(read_run(run.path()).state(), "running");
  }
  const RunRecord run = read_run(folder / "runs/one//");
  EXPECT_EQ(run.path, folder / "runs/one");
  EXPECT_EQ(run.run_id, "one");
  EXPECT_EQ(run.state(), "unfinished") << "nobody works in it and it has no summary";
  EXPECT_EQ(run.started(), 1000.5);
  EXPECT_TRUE(run.summary.is_null());
  const std::vector<std::pair<std::string, std::string>> config{{"model", "mlp"},
                                                                {"lr", "0.1 = x"}};
  EXPECT_EQ(run.config, config);
  std::vector<int> ranks;
  for (const auto& [rank, path] : run.rank_metrics()) ranks.push_back(rank);
  EXPECT_EQ(ranks, (std::vector<int>{0, 2, 10}));
  EXPECT_TRUE(run.faults.empty());
  write_file_atomically(folder / "runs/one/summary.json", R"({"exit_reason": "stopped"})");
  EXPECT_EQ(read_run(folder / "runs/one").state(), "stopped");
}

TEST(RunRecord, OfDamagedFilesNamesThemAndHasTheRest) {
  const TempDir folder;
  write_file_atomically(folder / "config.ini", "model = mlp\n");
  write_file_atomically(folder / "manifest.json", R"({"run_id": "a", )");
  write_file_atomically(folder / "summary.json", "[1]");
  const RunRecord run = read_run(folder.path());
  ASSERT_EQ(run.faults.size(), 2U);
  EXPECT_NE(run.faults[0].find("manifest.json"), std::string::npos);
  EXPECT_NE(run.faults[1].find("summary.json"), std::string::npos);
  EXPECT_EQ(run.state(), "damaged");
  EXPECT_EQ(run.config.size(), 1U);
  EXPECT_TRUE(std::isnan(run.started()));
  EXPECT_FALSE(run.run_id.empty()) << "the folder's name stands for it";
}

TEST(RunRecord, OfUnexpectedTypesSaysNothing) {
  const TempDir folder;
  write_file_atomically(folder / "manifest.json", R"({"run_id": 7, "segments": {"a": 1}})");
  write_file_atomically(folder / "summary.json", R"({"exit_reason": 3})");
  const RunRecord run = read_run(folder.path());
  EXPECT_EQ(run.state(), "unfinished");
  EXPECT_TRUE(std::isnan(run.started()));
}

TEST(RunRecord, NeedsTheFolderOfARun) {
  const TempDir folder;
  EXPECT_THROW(read_run(folder / "absent"), MissingInputError);
  EXPECT_THROW(read_run(folder.path()), DataError);
  EXPECT_FALSE(is_run_folder(folder.path()));
}

TEST(RunFolder, ARunThatGoesOnPutsAsideWhatItWillWriteAgain) {
  const TempDir folder;
  const auto run = RunFolder::create(folder / "runs", "one");
  const std::string aside_folder = run.checkpoints_path() + "/superseded-1";
  const std::string lines = "{\"event\":\"step\",\"step\":4}\n{\"event\":\"step\",\"step\":5}\n";
  const auto write_all = [&] {
    run.write_summary({{"steps", 5}});
    run.write_evaluation({{"step", 5}});
    write_file_atomically(run.report_path(), "page");
    write_file_atomically(run.metrics_path(), lines);
    write_file_atomically(run.rank_metrics_path(0), lines);
    write_file_atomically(run.path() + "/ranks/notes", lines);
  };
  write_all();
  {
    Superseded aside(run.checkpoints_path());
    run.supersede_after({5, true}, aside);
  }
  EXPECT_FALSE(file_exists(run.summary_path())) << "the run has not ended";
  EXPECT_FALSE(file_exists(run.report_path()));
  EXPECT_TRUE(file_exists(run.evaluation_path())) << "it is true of that step still";
  EXPECT_EQ(read_file(run.metrics_path()), lines);
  EXPECT_FALSE(is_folder(aside_folder)) << "nothing is later";
  write_all();
  Superseded aside(run.checkpoints_path());
  run.supersede_after({4, false}, aside);
  EXPECT_FALSE(file_exists(run.summary_path()));
  EXPECT_FALSE(file_exists(run.evaluation_path()));
  for (const char* name : {"summary.json", "report.html", "evaluation.json"}) {
    EXPECT_TRUE(file_exists(aside_folder + "/" + name)) << name;
  }
  const std::string half = lines.substr(0, lines.size() / 2);
  EXPECT_EQ(read_file(run.metrics_path()), half);
  EXPECT_EQ(read_file(run.rank_metrics_path(0)), half);
  EXPECT_EQ(read_file(aside_folder + "/metrics.jsonl"), half.substr(0, half.size() - 3) + "5}\n");
  EXPECT_EQ(read_file(aside_folder + "/ranks/rank-0000.jsonl").size(), half.size());
  EXPECT_EQ(read_file(run.path() + "/ranks/notes"), lines) << "not the run's";
  EXPECT_NO_THROW(run.supersede_after({4, false}, aside));
}

TEST(RunFolder, ItsNamesAreDurable) {
  const TempDir folder;
  const testing::NotedCalls calls;
  { RunFolder::create(folder / "runs", "one"); }
  EXPECT_GT(calls.first("fsync", folder.path()), calls.first("mkdir", "/runs"));
  EXPECT_GT(calls.last("fsync", "/runs"), calls.first("mkdir", "/runs/one/model"));
  EXPECT_GT(calls.last("fsync", "/runs/one"), calls.first("mkdir", "/runs/one/ranks"));
  const int before = calls.last("fsync", "/runs/one");
  RunFolder::open(folder / "runs", "one");
  EXPECT_GT(calls.last("fsync", "/runs/one"), before) << "whoever made it may have been ended";
}

}  // namespace
}  // namespace tandem::metrics
