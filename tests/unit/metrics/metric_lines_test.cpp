#include "tandem/metrics/metric_lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/metrics/json_lines.hpp"

namespace tandem::metrics {
namespace {

using tandem::testing::TempDir;

MetricLines read(const std::string& content, std::uint64_t most_bytes = ~std::uint64_t{0}) {
  const TempDir folder;
  write_file_atomically(folder / "lines", content);
  return read_metric_lines(folder / "lines", {most_bytes});
}

std::string line_of(int step) {
  return R"({"event":"step","step":)" + std::to_string(step) + R"(,"epoch":0.5,"time":7,"loss":)" +
         std::to_string(step) + ".5}\n";
}

TEST(MetricLines, AreWhatTheSinkWrote) {
  const TempDir folder;
  {
    JsonLinesSink sink(folder / "metrics.jsonl", {}, nullptr);
    StepRecord record;
    record.step = 3;
    record.epoch = 0.25;
    record.loss = std::nan("");
    record.learning_rate = 0.05;
    sink.on_step(record);
    sink.on_evaluation({4, 1.0, "test", 1.75, 0.25, 5, 20, 0.5});
    sink.on_note({"warning", 4, 1.0, "a\nb"});
  }
  const MetricLines lines = read_metric_lines(folder / "metrics.jsonl");
  EXPECT_EQ(lines.refused, 0U);
  EXPECT_EQ(lines.last("step", "lr"), 0.05);
  EXPECT_EQ(lines.samples("step", "lr").front().epoch, 0.25);
  ASSERT_EQ(lines.samples("step", "loss").size(), 1U) << "a loss that is not finite is still one";
  EXPECT_TRUE(std::isnan(lines.last("step", "loss")));
  EXPECT_EQ(lines.last("eval", "test_accuracy"), 0.25);
  EXPECT_TRUE(std::isnan(lines.last("eval", "absent")));
  EXPECT_EQ(lines.last_step(), 4);
  ASSERT_EQ(lines.notes.size(), 1U);
  EXPECT_EQ(lines.notes.front().text, "a\nb");
}

TEST(MetricLines, OfATornFileAreTheWholeOnesWhereverItEnds) {
  std::string whole;
  for (int step = 1; step <= 3; ++step) whole += line_of(step);
  for (std::size_t end = 0; end <= whole.size(); ++end) {
    const MetricLines lines = read(whole.substr(0, end));
    const auto expected = std::count(whole.begin(), whole.begin() + static_cast<long>(end), '\n');
    EXPECT_EQ(lines.samples("step", "loss").size(), static_cast<std::size_t>(expected)) << end;
    EXPECT_EQ(lines.refused, 0U) << end;
  }
}

TEST(MetricLines, LeaveOutAndCountWhatIsNoneOfOurs) {
  const std::string none_of_ours =
      "\nnull\n[]\n[{\"event\":\"step\",\"step\":1}]\n\"step\"\n{}\n{\"event\":\"step\"}\n"
      "{\"event\":3,\"step\":1}\n{\"event\":\"step\",\"step\":null}\n{\"event\":\"step\",\"step\":-"
      "1}\n"
      "{\"event\":\"step\",\"step\":1\n{\"event\":\"step\",\"step\":1} x\n\xFF\xFE\n";
  const auto refused =
      static_cast<std::uint64_t>(std::count(none_of_ours.begin(), none_of_ours.end(), '\n'));
  const MetricLines lines = read(line_of(1) + none_of_ours + line_of(2));
  EXPECT_EQ(lines.refused, refused);
  EXPECT_EQ(lines.samples("step", "loss").size(), 2U);
}

TEST(MetricLines, KeepFieldsAndEventsOfOtherVersions) {
  const MetricLines lines = read(
      line_of(1) +
      R"({"event":"system","step":1,"cpu_percent":99.5,"nested":{"step":7,"x":1},"list":[1,2]})" +
      "\n" + line_of(2));
  EXPECT_EQ(lines.last("system", "cpu_percent"), 99.5);
  EXPECT_TRUE(lines.samples("system", "x").empty());
  EXPECT_EQ(lines.samples("system", "cpu_percent").front().step, 1);
  EXPECT_EQ(lines.samples("step", "loss").back().step, 2);
}

TEST(MetricLines, OfTheEndOfALargeFileBeginWithAWholeOne) {
  std::string whole;
  for (int step = 1; step <= 9; ++step) whole += line_of(step);
  const std::size_t length = line_of(1).size();
  for (std::size_t bytes = length; bytes < 3 * length; ++bytes) {
    const MetricLines lines = read(whole, bytes);
    EXPECT_EQ(lines.refused, 0U);
    EXPECT_EQ(lines.samples("step", "loss").size(), bytes / length) << bytes;
    EXPECT_EQ(lines.last("step", "loss"), 9.5);
  }
}

TEST(MetricLines, OfAFileThatNobodyMeantToWriteStayFew) {
  std::string content = R"({"event":"step","step":1,"x":")" + std::string(3 << 20, 'x') + "\"}\n";
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    content += R"({"event":"e)" + number + R"(","step":1})" + "\n";
    content += R"({"event":"step","step":1,"f)" + number + R"(":1})" + "\n";
  }
  for (int i = 0; i < 1000; ++i) {
    content += R"({"event":"warning","step":)" + std::to_string(i) + R"(,"text":"x"})" + "\n";
  }
  content += std::string(1000, '[') + "\n" + line_of(2);
  const MetricLines lines = read(content);
  EXPECT_LE(lines.events.size(), 32U);
  EXPECT_LE(lines.events.at("step").fields.size(), 64U);
  EXPECT_EQ(lines.notes.size(), 200U);
  EXPECT_EQ(lines.notes.back().step, 999);
  EXPECT_EQ(lines.earlier_notes, 800U);
  EXPECT_EQ(lines.events.at("step").last_step, 2) << "the lines after the long one count";
}

TEST(MetricLines, PassByEachWithTheStepsThatItSpeaksOf) {
  const TempDir folder;
  std::string content;
  for (const int step : {10, 20, 30, 35}) content += line_of(step);
  write_file_atomically(folder / "lines", content);
  std::vector<double> seen;
  Reading reading;
  reading.starts = {0, 27};  // the run was started anew after 27 steps
  reading.see = [&](const PassingLine& line) {
    EXPECT_EQ(line.event, "step");
    EXPECT_EQ(line.number("loss"), line.step + 0.5);
    EXPECT_TRUE(std::isnan(line.number("absent")));
    seen.push_back(line.steps);
  };
  const MetricLines lines = read_metric_lines(folder / "lines", reading);
  EXPECT_EQ(seen, (std::vector<double>{10, 10, 3, 5}));
  EXPECT_EQ(lines.events.at("step").steps, 28);
  EXPECT_DOUBLE_EQ(lines.series("step", "loss").mean_per_step(),
                   (10 * 10.5 + 10 * 20.5 + 3 * 30.5 + 5 * 35.5) / 28);
}

TEST(MetricLines, OfALongFileAreNoMoreThanADrawingNeeds) {
  constexpr int kLines = 100'000;
  std::string content;
  for (int step = 1; step <= kLines; ++step) content += line_of(step == 77'777 ? 200'000 : step);
  const MetricLines lines = read(content);
  EXPECT_LE(lines.samples("step", "loss").size(), SampleSeries::kMax);
  EXPECT_EQ(lines.last("step", "loss"), kLines + 0.5);
  EXPECT_EQ(lines.series("step", "loss").highest(), 200'000.5);
}

TEST(MetricLines, OfAFileThatIsNotThereAreAnError) {
  EXPECT_THROW(read_metric_lines("/nonexistent/metrics.jsonl"), MissingInputError);
}

}  // namespace
}  // namespace tandem::metrics
