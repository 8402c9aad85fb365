#include "tandem/metrics/json_lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"

namespace tandem::metrics {
namespace {

// The part of `content` that stays; checks that the rest is in superseded-1, and nowhere else.
std::string kept_of(const std::string& content, const ResumePoint& point) {
  const testing::TempDir folder;
  const std::string path = folder / "metrics.jsonl";
  write_file_atomically(path, content);
  Superseded aside(folder / "checkpoints");
  JsonLinesSink::supersede_after(path, point, aside, "metrics.jsonl");
  std::string kept = read_file(path);
  const std::string tail = folder / "checkpoints/superseded-1/metrics.jsonl";
  EXPECT_EQ(kept + (file_exists(tail) ? read_file(tail) : ""), content);
  EXPECT_EQ(file_exists(tail), kept != content);
  return kept;
}

TEST(JsonLines, PutsAsideWhatAResumedRunWritesAgain) {
  const testing::TempDir folder;
  const std::string path = folder / "metrics.jsonl";
  {
    JsonLinesSink sink(path, {}, nullptr);
    for (std::uint64_t step = 1; step <= 5; ++step) {
      StepRecord record;
      record.step = step;
      sink.on_step(record);
    }
  }
  const std::string whole = read_file(path);
  write_file_atomically(path, whole + "no line of ours\n" + R"({"event":"step","step":2,"lo)");
  Superseded aside(folder / "checkpoints");
  JsonLinesSink::supersede_after(path, {3}, aside, "metrics.jsonl");
  std::size_t third_end = 0;
  for (int line = 0; line < 3; ++line) third_end = whole.find('\n', third_end) + 1;
  EXPECT_EQ(read_file(path), whole.substr(0, third_end));
  JsonLinesSink(path, {}, nullptr).on_note({"resume", 3, 0.5, "from \"there\"\n"});
  const std::string last = read_file(path).substr(third_end);
  EXPECT_EQ(Json::parse(last)["text"], "from \"there\"\n");
}

TEST(JsonLines, EveryRankHasItsOwnLines) {
  const testing::TempDir folder;
  JsonLinesSink sink(folder / "metrics.jsonl", {folder / "zero.jsonl", folder / "one.jsonl"},
                     nullptr);
  StepRecord record;
  record.step = 7;
  record.ranks = {{5, 1.5, 0.25, 0.5, 0.25, 1, 50, {}}, {4, 2.5, 0.5, 0.5, 0, 1, 40, {}}};
  record.ranks[1].system.values[kRssBytes] = 5'000'000'000;
  record.ranks[1].system.values[kCpuPercent] = 99.5;
  sink.on_step(record);
  const Json one = Json::parse(read_file(folder / "one.jsonl"));
  EXPECT_EQ(one["step"], 7);
  EXPECT_EQ(one["images"], 4);
  EXPECT_EQ(one["loss"], 2.5);
  EXPECT_EQ(one["data_seconds"], 0.5);
  EXPECT_EQ(one["comm_seconds"], 0);
  EXPECT_EQ(one["images_per_second"], 40);
  EXPECT_EQ(one["rss_bytes"].dump(), "5000000000");
  EXPECT_EQ(one["cpu_percent"], 99.5);
  EXPECT_FALSE(one.contains("gpu_percent")) << "what is absent is left out";
  const Json zero = Json::parse(read_file(folder / "zero.jsonl"));
  EXPECT_EQ(zero["images"], 5);
  EXPECT_FALSE(zero.contains("cpu_percent"));
  const Json all = Json::parse(read_file(folder / "metrics.jsonl"));
  EXPECT_EQ(all["rank_images_per_second"], Json({{"min", 40.0}, {"mean", 45.0}, {"max", 50.0}}));
  EXPECT_FALSE(all.contains("grad_norm"));
  EXPECT_EQ(all["slowest_rank"], 1);
  EXPECT_EQ(all["slowest_by_seconds"], 0.25);
  EXPECT_EQ(all["slowest_in"], "data");
}

TEST(JsonLines, AFolderThatIsGoneEndsNoTraining) {
  const testing::TempDir folder;
  std::vector<std::string> files;
  for (int rank = 0; rank < 300; ++rank) {  // so many that not all stay open
    files.push_back(folder / ("ranks/" + std::to_string(rank)));
  }
  std::filesystem::create_directory(folder / "ranks");
  std::vector<std::string> warnings;
  JsonLinesSink sink(folder / "metrics.jsonl", files,
                     [&](const std::string& each) { warnings.push_back(each); });
  StepRecord record;
  record.ranks.resize(files.size());
  record.step = 1;
  sink.on_step(record);
  EXPECT_EQ(Json::parse(read_file(files.front()))["step"], 1);
  EXPECT_EQ(Json::parse(read_file(files.back()))["step"], 1);
  std::filesystem::remove_all(folder / "ranks");
  record.step = 2;
  sink.on_step(record);
  record.step = 3;
  sink.on_step(record);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("training continues"), std::string::npos);
  const std::string whole = read_file(folder / "metrics.jsonl");
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 3) << "what can be written is";
}

TEST(JsonLines, LeavesAFileAloneOfWhichNothingIsLater) {
  const std::string content = "odd\n{\"event\":\"step\",\"step\":2}\n" +
                              std::string(3U << 20U, 'x') + "\n{\"event\":\"step\",\"step\":3}\n";
  EXPECT_EQ(kept_of(content, {3}), content);
  EXPECT_EQ(kept_of(content, {2}), content.substr(0, content.size() - 26));
  EXPECT_EQ(kept_of(content, {1}), "odd\n");
  const testing::TempDir folder;
  write_file_atomically(folder / "metrics.jsonl", content);
  Superseded aside(folder / "checkpoints");
  const testing::NotedCalls calls;
  JsonLinesSink::supersede_after(folder / "metrics.jsonl", {3}, aside, "metrics.jsonl");
  EXPECT_EQ(calls.first("rename", ""), -1);
}

// A `checkpoint` line may come after lines of later steps, because the write runs in background.
TEST(JsonLines, CutsAtTheFirstStepEpochOrEvaluationBeyond) {
  const auto line = [](const char* event, int step) {
    return Json({{"event", event}, {"step", step}}).dump() + "\n";
  };
  for (const char* event : {"step", "epoch", "eval"}) {
    const std::string before = line("step", 3) + line("checkpoint", 9) + line("resume", 4);
    EXPECT_EQ(kept_of(before + line(event, 4) + line("checkpoint", 3) + line("step", 2), {3}),
              before)
        << event;
  }
  const std::string whole = line("step", 3) + line("eval", 3);
  EXPECT_EQ(kept_of(whole, {3, false}), whole);
  EXPECT_EQ(kept_of(whole, {3, true}), line("step", 3)) << "that evaluation is made again";
  EXPECT_EQ(kept_of(line("eval", 2) + whole, {4, true}), line("eval", 2) + whole);
}

// Blocks that were not on the disk before a power failure may be zeros afterwards.
TEST(JsonLines, WhatAPowerCutLeftOfLinesIsPutAside) {
  const std::string good = "{\"event\":\"step\",\"step\":1}\n";
  EXPECT_EQ(kept_of(good + std::string(9, '\0') + "1}\n", {3}), good);
  EXPECT_EQ(kept_of(good + std::string(9, '\0') + "1}\n" + good, {3}).size(), 2 * good.size() + 12);
  const std::string note = "{\"event\":\"note\",\"step\":1}\n";
  EXPECT_EQ(kept_of(good + std::string(9, '\0') + "1}\n" + note, {3}), good);
  EXPECT_EQ(kept_of(good + R"({"event":"st)", {3}), good);
  EXPECT_EQ(kept_of(R"({"event":"st)", {3}), "");
}

TEST(JsonLines, TheEndIsSafeBeforeTheFileIsReplaced) {
  const testing::TempDir folder;
  const std::string path = folder / "metrics.jsonl";
  const std::string content = "{\"event\":\"step\",\"step\":4}\n";
  write_file_atomically(path, content);
  Superseded aside(folder / "checkpoints");
  {
    const testing::FailingCalls calls("rename", "superseded-1/metrics", ENOSPC);
    EXPECT_THROW(JsonLinesSink::supersede_after(path, {3}, aside, "metrics.jsonl"), IoError);
    EXPECT_EQ(read_file(path), content);
  }
  const testing::NotedCalls calls;
  JsonLinesSink::supersede_after(path, {3}, aside, "metrics.jsonl");
  const int synced = calls.first("fsync", "superseded-1");
  EXPECT_LT(calls.first("rename", "superseded-1/metrics.jsonl"),
            calls.last("fsync", "superseded-1"));
  ASSERT_GE(synced, 0);
  EXPECT_GT(calls.last("rename", path), calls.last("fsync", "superseded-1"));
}

TEST(JsonLines, AFileThatCannotBeReadIsNoEmptyOne) {
  const testing::TempDir folder;
  Superseded aside(folder / "checkpoints");
  JsonLinesSink::supersede_after(folder / "absent.jsonl", {3}, aside, "absent.jsonl");
  EXPECT_FALSE(file_exists(folder / "absent.jsonl"));
  EXPECT_FALSE(is_folder(folder / "checkpoints"));
  write_file_atomically(folder / "a.jsonl", "{}\n");
  const testing::FailingCalls calls("open", "a.jsonl", EACCES);
  EXPECT_THROW(JsonLinesSink::supersede_after(folder / "a.jsonl", {3}, aside, "a.jsonl"), IoError);
}

TEST(JsonLines, SyncMakesEveryFileAndItsNameDurable) {
  const testing::TempDir folder;
  std::filesystem::create_directory(folder / "ranks");
  std::vector<std::string> files;
  for (int rank = 0; rank < 258; ++rank) {  // so many that not all stay open
    files.push_back(folder / ("ranks/" + std::to_string(rank)));
  }
  JsonLinesSink sink(folder / "metrics.jsonl", files, nullptr);
  const testing::NotedCalls calls;
  sink.sync();
  EXPECT_GE(calls.first("fdatasync", "metrics.jsonl"), 0);
  EXPECT_GE(calls.first("fdatasync", "ranks/0"), 0);
  EXPECT_GE(calls.first("fdatasync", "ranks/257"), 0);
  EXPECT_GE(calls.first("fsync", "ranks"), 0);
  const int names = calls.last("fsync", folder.path());
  EXPECT_GT(names, calls.first("fdatasync", "ranks/257"));
  sink.sync();
  EXPECT_EQ(calls.last("fsync", folder.path()), names) << "names are made durable once";
  EXPECT_GT(calls.last("fdatasync", "metrics.jsonl"), names);
}

TEST(JsonLines, WhatIsRefusedAtSyncOrCloseIsOneWarning) {
  for (const char* call : {"fdatasync", "close", "fsync"}) {
    const testing::TempDir folder;
    std::vector<std::string> files;
    for (int rank = 0; rank < 258; ++rank) files.push_back(folder / std::to_string(rank));
    std::vector<std::string> warnings;
    JsonLinesSink sink(folder / "metrics.jsonl", files,
                       [&](const std::string& each) { warnings.push_back(each); });
    StepRecord record;
    record.ranks.resize(files.size());
    {
      const testing::FailingCalls calls(call, folder.path(), EDQUOT);
      sink.on_step(record);
      sink.sync();
      sink.sync();
      EXPECT_GT(calls.count(), 0);
    }
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("Disk quota exceeded; training continues"), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem::metrics
