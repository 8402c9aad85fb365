#include "tandem/metrics/json_lines.hpp"

#include <gtest/gtest.h>

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
  record.ranks = {{5, 1.5, 0.25, 0.5, 0.25, 1}, {4, 2.5, 0.5, 0.5, 0, 1}};
  sink.on_step(record);
  const Json one = Json::parse(read_file(folder / "one.jsonl"));
  EXPECT_EQ(one["step"], 7);
  EXPECT_EQ(one["images"], 4);
  EXPECT_EQ(one["loss"], 2.5);
  EXPECT_EQ(one["data_seconds"], 0.5);
  EXPECT_EQ(one["comm_seconds"], 0);
  EXPECT_EQ(Json::parse(read_file(folder / "zero.jsonl"))["images"], 5);
  const Json all = Json::parse(read_file(folder / "metrics.jsonl"));
  EXPECT_EQ(all["slowest_rank"], 1);
  EXPECT_EQ(all["slowest_by_seconds"], 0.25);
  EXPECT_EQ(all["slowest_in"], "data");
}

TEST(JsonLines, NothingToDropIsNoFault) {
  const testing::TempDir folder;
  JsonLinesSink::drop_after(folder / "absent.jsonl", 3);
  EXPECT_FALSE(file_exists(folder / "absent.jsonl"));
}

}  // namespace
}  // namespace tandem::metrics
