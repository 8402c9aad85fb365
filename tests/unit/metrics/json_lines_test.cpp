#include "tandem/metrics/json_lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/temp_dir.hpp"

namespace tandem::metrics {
namespace {

TEST(JsonLines, DropsWhatAResumedRunWritesAgain) {
  const testing::TempDir folder;
  const std::string path = folder / "metrics.jsonl";
  {
    JsonLinesSink sink(path, {});
    for (std::uint64_t step = 1; step <= 5; ++step) {
      StepRecord record;
      record.step = step;
      sink.on_step(record);
    }
  }
  const std::string whole = read_file(path);
  write_file_atomically(path, whole + "no line of ours\n" + R"({"event":"step","step":2,"lo)");
  JsonLinesSink::drop_after(path, 3);
  std::size_t third_end = 0;
  for (int line = 0; line < 3; ++line) third_end = whole.find('\n', third_end) + 1;
  EXPECT_EQ(read_file(path), whole.substr(0, third_end));
  JsonLinesSink(path, {}).on_note({"resume", 3, 0.5, "from \"there\"\n"});
  const std::string last = read_file(path).substr(third_end);
  EXPECT_EQ(Json::parse(last)["text"], "from \"there\"\n");
}

TEST(JsonLines, EveryRankHasItsOwnLines) {
  const testing::TempDir folder;
  JsonLinesSink sink(folder / "metrics.jsonl", {folder / "zero.jsonl", folder / "one.jsonl"});
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
  JsonLinesSink sink(folder / "metrics.jsonl", files);
  StepRecord record;
  record.ranks.resize(files.size());
  record.step = 1;
  sink.on_step(record);
  EXPECT_EQ(Json::parse(read_file(files.front()))["step"], 1);
  EXPECT_EQ(Json::parse(read_file(files.back()))["step"], 1);
  std::filesystem::remove_all(folder / "ranks");
  ::testing::internal::CaptureStderr();
  record.step = 2;
  sink.on_step(record);
  record.step = 3;
  sink.on_step(record);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("training goes on"), std::string::npos);
  const std::string whole = read_file(folder / "metrics.jsonl");
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 3) << "what can be written is";
}

TEST(JsonLines, DropsNothingOfAFileThatIsWhole) {
  const testing::TempDir folder;
  const std::string path = folder / "metrics.jsonl";
  const std::string content =
      "odd\n{\"step\":2}\n" + std::string(3U << 20U, 'x') + "\n{\"step\":3}\n";
  write_file_atomically(path, content);
  JsonLinesSink::drop_after(path, 3);
  EXPECT_EQ(read_file(path), content);
  JsonLinesSink::drop_after(path, 2);
  EXPECT_EQ(read_file(path), content.substr(0, content.size() - 11));
  JsonLinesSink::drop_after(path, 1);
  EXPECT_EQ(read_file(path), "odd\n");
}

TEST(JsonLines, NothingToDropIsNoFault) {
  const testing::TempDir folder;
  JsonLinesSink::drop_after(folder / "absent.jsonl", 3);
  EXPECT_FALSE(file_exists(folder / "absent.jsonl"));
}

}  // namespace
}  // namespace tandem::metrics
