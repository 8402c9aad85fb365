#include "rank_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"
#include "tandem/metrics/json_lines.hpp"
#include "tandem/metrics/run_folder.hpp"

namespace tandem::report {
namespace {

using tandem::testing::TempDir;

// As the program writes it: after `step` steps, what each rank did since the record before.
struct WrittenRun {
  TempDir folder;
  std::string path;

  explicit WrittenRun(const std::vector<metrics::StepRecord>& records) {
    const auto run = metrics::RunFolder::create(folder / "runs", "one");
    path = run.path();
    write_file_atomically(path + "/config.ini", "");
    std::vector<std::string> files;
    for (std::size_t rank = 0; rank < records.back().ranks.size(); ++rank) {
      files.push_back(run.rank_metrics_path(static_cast<int>(rank)));
    }
    metrics::JsonLinesSink sink(run.metrics_path(), files, nullptr);
    for (const metrics::StepRecord& record : records) sink.on_step(record);
  }
  RankView read() const { return read_ranks(metrics::read_run(path), {0, 30, 100}); }
};

metrics::StepRecord record_of(std::uint64_t step, const std::vector<metrics::RankRecord>& ranks) {
  metrics::StepRecord record;
  record.step = step;
  record.ranks = ranks;
  return record;
}

TEST(RankView, WeighsEachLineByItsSteps) {
  const WrittenRun run({record_of(10, {{80, 1, 0.1, 0.2, 0.3, 0.7}}),
                        record_of(30, {{160, 1, 0.4, 0.5, 0.6, 1.6}})});
  const RankView view = run.read();
  ASSERT_EQ(view.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(view.rows[0].data_seconds, (0.1 + 2 * 0.4) / 3);
  EXPECT_DOUBLE_EQ(view.rows[0].compute_seconds, (0.2 + 2 * 0.5) / 3);
  EXPECT_EQ(view.rows[0].images, 240);
  EXPECT_NEAR(view.rows[0].images_per_second, 240 / (10 * 0.7 + 20 * 1.6), 1e-9);
  EXPECT_DOUBLE_EQ(view.rows[0].exchange_seconds, (0.3 + 2 * 0.6) / 3);
  EXPECT_EQ(view.rows[0].wait_seconds, 0) << "alone, it waits for nobody";
}

TEST(RankView, ALineOfARestartSpeaksOfItsOwnSteps) {
  // 1005 steps on one rank, the last five of them in no line; then five more on two.
  const WrittenRun run(
      {record_of(1000, {{80, 1, 0.1, 0.2, 0.3, 0.6}}),
       record_of(1010, {{40, 1, 0.4, 0.5, 0.9, 1.8}, {40, 1, 0, 0.5, 0.6, 1.1}}),
       record_of(1020, {{80, 1, 0.4, 0.5, 0.6, 1.5}, {80, 1, 0.3, 0.5, 0.7, 1.5}})});
  const std::string silent = run.path + "/ranks/rank-0002.jsonl";
  write_file_atomically(silent, R"({"event":"step","step":1020,"step_seconds":1})"
                                "\n");
  write_file_atomically(run.path + "/manifest.json",
                        R"({"segments":[{"first_step":0},{"first_step":1005},{"odd":1},3]})");
  const RankView view = run.read();
  ASSERT_EQ(view.rows.size(), 3U);
  EXPECT_TRUE(std::isnan(view.rows[2].exchange_seconds)) << "its file has none";
  EXPECT_DOUBLE_EQ(view.rows[1].data_seconds, 10 * 0.3 / 15);
  EXPECT_NEAR(view.rows[1].images_per_second, 120 / (5 * 1.1 + 10 * 1.5), 1e-9);
  EXPECT_DOUBLE_EQ(view.rows[0].exchange_seconds, (1000 * 0.3 + 5 * 0.6 + 10 * 0.6) / 1015);
}

TEST(RankView, WaitingIsWhatTheLastRankDidNotNeed) {
  // The ranks take turns in being last; the exchange itself takes 0.1 s.
  const WrittenRun run({record_of(1, {{8, 1, 0, 0.5, 0.1, 0.6}, {8, 1, 0, 0.2, 0.4, 0.6}}),
                        record_of(2, {{8, 1, 0, 0.3, 0.2, 0.5}, {8, 1, 0, 0.4, 0.1, 0.5}})});
  const RankView view = run.read();
  ASSERT_EQ(view.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(view.rows[0].exchange_seconds, 0.1);
  EXPECT_DOUBLE_EQ(view.rows[0].wait_seconds, 0.05);
  EXPECT_DOUBLE_EQ(view.rows[1].exchange_seconds, 0.1);
  EXPECT_DOUBLE_EQ(view.rows[1].wait_seconds, 0.15);
}

TEST(RankView, TellsExchangeFromWaitingInAFileOfAnyLength) {
  // Two ranks take turns in being last by 0.3 s; the exchange takes 0.1 s, and 0.2 s each 100
  // steps.
  constexpr int kLines = 300'000;
  const WrittenRun run({record_of(1, {{8, 1, 0, 0.2, 0.1, 0.6}, {8, 1, 0, 0.5, 0.4, 0.6}})});
  for (int rank = 0; rank < 2; ++rank) {
    std::string lines;
    for (int line = 1; line <= kLines; ++line) {
      const double seconds = (line % 100 == 0 ? 0.2 : 0.1) + (line % 2 == rank ? 0.3 : 0);
      lines += R"({"event":"step","step":)" + std::to_string(50 * line) + R"(,"comm_seconds":)" +
               std::to_string(seconds) + "}\n";
    }
    write_file_atomically(run.path + "/ranks/rank-000" + std::to_string(rank) + ".jsonl", lines);
  }
  const RankView view = run.read();
  ASSERT_EQ(view.rows.size(), 2U);
  for (const RankRow& row : view.rows) {
    EXPECT_NEAR(row.exchange_seconds, 0.101, 0.0005) << "of a part of the lines, as of all";
    EXPECT_NEAR(row.wait_seconds, 0.15, 0.0005);
  }
}

TEST(RankView, TakesSystemMetricsWhereThereAreAny) {
  std::vector<metrics::RankRecord> ranks{{8, 1, 0, 0.5, 0.1, 0.6}, {8, 1, 0, 0.2, 0.4, 0.6}};
  ranks[1].system.values[metrics::kCpuPercent] = 50;
  const metrics::StepRecord first = record_of(1, ranks);
  ranks[1].system.values[metrics::kCpuPercent] = 100;
  const WrittenRun run({first, record_of(9, ranks)});
  const std::string file = run.path + "/ranks/rank-0001.jsonl";
  write_file_atomically(file, read_file(file) + R"({"event":"other","step":9,"new_one":3})" + "\n" +
                                  R"({"event":"step","step":9,"cpu_percent":null})" + "\n" +
                                  R"({"event":"step","st)");
  const RankView view = run.read();
  EXPECT_TRUE(view.rows[0].mean.empty());
  EXPECT_EQ(view.rows[1].mean.at("cpu_percent"), 75);
  EXPECT_EQ(view.rows[1].highest.at("cpu_percent"), 100);
  EXPECT_EQ(view.rows[1].mean.at("new_one"), 3);
  EXPECT_EQ(view.curves.by_metric.at("cpu_percent").front().first, "rank 1");
  EXPECT_EQ(view.curves.by_metric.count("loss"), 0U);
}

TEST(RankView, HasRoomForAllThatAMachineTells) {
  std::vector<metrics::RankRecord> ranks(1);
  ranks.front().system.values.fill(1);
  const RankView view = WrittenRun({record_of(1, ranks)}).read();
  EXPECT_EQ(view.rows.front().mean.size(), std::size_t{metrics::kSystemValues});
  for (const metrics::SystemValueSpec& spec : metrics::kSystemValueSpecs) {
    EXPECT_EQ(view.curves.by_metric.count(spec.name), 1U) << spec.name;
    EXPECT_NE(metric_title(spec.name), spec.name);
  }
}

TEST(RankView, MetricsStandInTheOrderInWhichTheyAreAskedFor) {
  std::vector<std::string> fields{"own", "gpu_percent",     "cpu_percent",  "comm_seconds",
                                  "a",   "compute_seconds", "step_seconds", "data_seconds"};
  std::sort(fields.begin(), fields.end(), stands_before);
  EXPECT_EQ(fields,
            (std::vector<std::string>{"step_seconds", "data_seconds", "compute_seconds",
                                      "comm_seconds", "cpu_percent", "gpu_percent", "a", "own"}));
}

TEST(RankView, OfManyRanksHasTheBandThatHoldsThem) {
  std::vector<metrics::RankRecord> ranks(kMaxRankCurves + 1);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].step_seconds = static_cast<double>(rank) + 1;
  }
  const RankView view = WrittenRun({record_of(5, ranks), record_of(20, ranks)}).read();
  EXPECT_TRUE(view.curves.is_band);
  EXPECT_EQ(view.rows.size(), ranks.size());
  const auto& curves = view.curves.by_metric.at("step_seconds");
  ASSERT_EQ(curves.size(), 3U);
  const double expected[] = {1, 5, 9};
  for (std::size_t i = 0; i < curves.size(); ++i) {
    ASSERT_EQ(curves[i].second.size(), 2U);
    EXPECT_EQ(curves[i].second.back().y, expected[i]);
    EXPECT_NEAR(curves[i].second.back().x, 20, 0.5);
  }
}

TEST(RankView, NamesAFileThatCannotBeRead) {
  const WrittenRun run({record_of(1, {{8, 1, 0, 0.5, 0.1, 0.6}, {8, 1, 0, 0.2, 0.4, 0.6}})});
  std::filesystem::remove(run.path + "/ranks/rank-0000.jsonl");
  std::filesystem::create_directory(run.path + "/ranks/rank-0000.jsonl");
  const RankView view = run.read();
  ASSERT_EQ(view.faults.size(), 1U);
  EXPECT_NE(view.faults.front().find("rank-0000.jsonl"), std::string::npos);
  ASSERT_EQ(view.rows.size(), 1U);
  EXPECT_EQ(view.rows.front().rank, 1);
}

}  // namespace
}  // namespace tandem::report
