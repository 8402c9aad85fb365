#include "tandem/metrics/tensorboard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "event_file.hpp"
#include "events.hpp"
#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"

namespace tandem::metrics {
namespace {

// The records of a folder's files, in the order in which a reader takes them.
std::vector<std::string> records_of(const std::string& folder) {
  std::vector<std::string> paths = list_folder(folder);
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> records;
  for (const std::string& path : paths) {
    const std::string content = read_file(path);
    for (std::size_t at = 0; at < content.size();) {
      std::uint64_t size = 0;
      std::memcpy(&size, content.data() + at, sizeof size);
      records.push_back(content.substr(at + 12, size));
      EXPECT_EQ(content.substr(at, size + 16), framed(records.back()));
      at += size + 16;
    }
  }
  return records;
}

bool holds(const std::string& record, const std::string& part) {
  return record.find(part) != std::string::npos;
}

// The encoded form of one value.
std::string scalar(const std::string& tag, float value) {
  return ProtoMessage().bytes(1, tag).single(2, value).encoded();
}

class TensorBoardTest : public ::testing::Test {
 protected:
  TensorBoardSettings settings() const {
    TensorBoardSettings made;
    made.folder = folder_.path();
    made.run_id = "one";
    return made;
  }
  static TensorBoardStart start() {
    TensorBoardStart made;
    made.parameters = {{"lr", 0.5}, {"nesterov", true}, {"model", std::string("mlp")}};
    made.texts = {{"run/config", "lr = 0.5"}};
    made.images = {{"train_images/0 cat", "PNG", 1, 28, 14}};
    return made;
  }

  const testing::TempDir folder_;
};

TEST_F(TensorBoardTest, AFileBeginsWithItsVersion) {
  EXPECT_EQ(version_event(0), std::string("\x09\0\0\0\0\0\0\0\0\x1A\x0D"
                                          "brain.Event:2",
                                          24));
  TensorBoardSink(settings(), start);
  const auto records = records_of(folder_.path());
  ASSERT_EQ(records.size(), 3U);
  EXPECT_TRUE(holds(records[0], "brain.Event:2"));
  for (const char* part : {"_hparams_/experiment", "_hparams_/session_start_info", "run/config"}) {
    EXPECT_TRUE(holds(records[1], part)) << part;
  }
  EXPECT_FALSE(holds(records[1], "session_end_info"));
  EXPECT_TRUE(holds(records[2], "train_images/0 cat"));
}

TEST_F(TensorBoardTest, AResumedRunHasReadersDropWhatIsDoneAgain) {
  { TensorBoardSink(settings(), start); }
  TensorBoardSettings resumed = settings();
  resumed.first_step = 4;
  TensorBoardSink(resumed, [] {
    ADD_FAILURE() << "described twice";
    return TensorBoardStart();
  });
  const auto records = records_of(folder_.path());
  ASSERT_EQ(records.size(), 5U);
  EXPECT_TRUE(holds(records[3], "brain.Event:2"));
  const std::string step_5_session_log_start = "\x10\x05\x3A\x02\x08\x01";
  EXPECT_TRUE(holds(records[4], step_5_session_log_start));
}

TEST_F(TensorBoardTest, ARunThatBeginsAgainDescribesItselfAgain) {
  { TensorBoardSink(settings(), start); }
  TensorBoardSink(settings(), [] {
    TensorBoardStart other;
    other.texts = {{"run/config", "lr = 0.125"}};
    return other;
  });
  const auto records = records_of(folder_.path());
  ASSERT_EQ(records.size(), 6U);
  EXPECT_EQ(records[4].substr(9), start_event(0, 0).substr(9)) << "all before is dropped";
  EXPECT_TRUE(holds(records[5], "lr = 0.125"));
}

TEST_F(TensorBoardTest, WhatElseLiesInTheFolderDescribesNothing) {
  write_file_atomically(folder_ / "notes.txt", "mine");
  TensorBoardSettings resumed = settings();
  resumed.first_step = 4;
  bool is_described = false;
  TensorBoardSink(resumed, [&] {
    is_described = true;
    return start();
  });
  EXPECT_TRUE(is_described);
}

TEST_F(TensorBoardTest, ValuesOfAStepAreOneEvent) {
  TensorBoardSink sink(settings(), start);
  StepRecord record;
  record.step = 7;
  record.loss = 1.5;
  record.learning_rate = 0.25;
  record.ranks.resize(2);
  record.ranks[1].system.samples = 1;
  record.ranks[1].system.values[kThreads] = 3;
  sink.on_step(record);
  std::string event = records_of(folder_.path()).back();
  EXPECT_TRUE(holds(event, "\x10\x07")) << "the step";
  EXPECT_TRUE(holds(event, scalar("train/loss", 1.5)));
  EXPECT_TRUE(holds(event, scalar("train/lr", 0.25)));
  EXPECT_FALSE(holds(event, "grad_norm"));
  EXPECT_TRUE(holds(event, scalar("usage/rank-0001/threads", 3)));
  EXPECT_FALSE(holds(event, "rank-0001/gpu_percent")) << "absent there";
  EXPECT_TRUE(holds(event, scalar("usage/rank-0000/step_seconds", 0))) << "never sampled";
  EXPECT_FALSE(holds(event, "rank-0000/threads"));
  record.gradient_norm = 2;
  sink.on_step(record);
  event = records_of(folder_.path()).back();
  EXPECT_TRUE(holds(event, scalar("train/grad_norm", 2)));
  EXPECT_FALSE(holds(event, "rank-0001")) << "no new sample";
}

TEST_F(TensorBoardTest, ManyRanksComeLessOften) {
  TensorBoardSink sink(settings(), start);
  StepRecord record;
  record.ranks.resize(33);
  std::string written;
  for (std::uint64_t step = 1; step <= 7; ++step) {
    record.step = step;
    record.ranks[32].system.samples = static_cast<double>(step);  // of the others there is none
    sink.on_step(record);
    const std::string event = records_of(folder_.path()).back();
    written += std::string(holds(event, "rank-0032") ? "s" : "-") +
               (holds(event, "rank-0000") ? "t" : "-");
  }
  EXPECT_EQ(written,
            "st"
            "--"
            "--"
            "st"
            "--"
            "--"
            "st");
}

TEST_F(TensorBoardTest, ARunThatIsNotCompleteHasNoEnd) {
  {
    TensorBoardSink(settings(), start)
        .on_evaluation({10, 2.0, "validation", 1.75, 0.5, 5, 20, 0.5});
  }
  const auto records = records_of(folder_.path());
  EXPECT_TRUE(holds(records.back(), scalar("validation/accuracy", 0.5)));
  EXPECT_FALSE(holds(records.back(), "session_end_info"));
}

TEST_F(TensorBoardTest, EpochsAndEvaluationsAndTheEnd) {
  {
    TensorBoardSink sink(settings(), start);
    sink.on_epoch({10, 2.0, 50, 1.5, 0.25, 2.5, {}});
    sink.on_evaluation({10, 2.0, "test", 1.75, 0.5, 5, 20, 0.5});
    sink.on_note({"warning", 10, 2.0, "odd \xFF"});
    sink.on_note({"checkpoint", 10, 2.0, "path"});
    sink.finish();
  }
  const auto records = records_of(folder_.path());
  ASSERT_EQ(records.size(), 7U);
  EXPECT_TRUE(holds(records[3], scalar("train/epoch_loss", 1.5)));
  EXPECT_TRUE(holds(records[3], scalar("train/epoch_accuracy", 0.25)));
  EXPECT_TRUE(holds(records[4], scalar("eval/loss", 1.75)));
  EXPECT_TRUE(holds(records[4], scalar("eval/accuracy", 0.5)));
  EXPECT_TRUE(holds(records[5], "odd \xEF\xBF\xBD"));
  EXPECT_TRUE(holds(records[6], "_hparams_/session_end_info"));
}

TEST_F(TensorBoardTest, HistogramsComeEverySoManyEpochs) {
  TensorBoardSettings with = settings();
  with.histograms_every = 2;
  int visits = 0;
  with.visit_weights = [&](const auto& take) {
    ++visits;
    const std::vector<float> values{1, 2};
    take("conv1.weight", Span<const float>(values));
  };
  TensorBoardSink sink(with, start);
  for (const double epoch : {0.5, 1.0, 2.0, 2.5, 3.0, 4.0})
    sink.on_epoch({1, epoch, 1, 1, 1, 1, {}});
  EXPECT_EQ(visits, 2);
  EXPECT_TRUE(holds(records_of(folder_.path()).back(), "weights/conv1.weight"));
}

TEST_F(TensorBoardTest, SyncMakesTheFileAndItsNameDurable) {
  TensorBoardSink sink(settings(), start);
  const testing::NotedCalls calls;
  sink.sync();
  const int name = calls.first("fsync", folder_.path());
  EXPECT_GT(name, calls.first("fdatasync", "events.out"));
  EXPECT_GE(calls.first("fdatasync", "events.out"), 0);
  sink.sync();
  EXPECT_EQ(calls.last("fsync", folder_.path()), name) << "its name is made durable once";
  EXPECT_GT(calls.last("fdatasync", "events.out"), name);
}

TEST_F(TensorBoardTest, ASyncThatFailsIsOneWarning) {
  std::vector<std::string> warnings;
  TensorBoardSettings warned = settings();
  warned.warn = [&](const std::string& each) { warnings.push_back(each); };
  TensorBoardSink sink(warned, start);
  {
    const testing::FailingCalls calls("fdatasync", "events.out", EDQUOT);
    sink.sync();
    sink.sync();
    EXPECT_EQ(calls.count(), 2);
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("TensorBoard will lack values"), std::string::npos);
}

TEST(Histogram, CountsEveryFiniteValueOnce) {
  std::vector<float> values{-1, 0, 1, 3, std::nanf(""), INFINITY};
  const Histogram histogram = histogram_of(values);
  ASSERT_EQ(histogram.counts.size(), 64U);
  ASSERT_EQ(histogram.limits.size(), 64U);
  EXPECT_EQ(histogram.counts.front(), 1);
  EXPECT_EQ(histogram.counts[16], 1);
  EXPECT_EQ(histogram.counts.back(), 1) << "the largest is in the last one";
  EXPECT_EQ(histogram.limits.front(), -1 + 4.0 / 64);
  EXPECT_EQ(histogram.limits.back(), 3);
  EXPECT_EQ(histogram.sum, 3);
  EXPECT_EQ(histogram.sum_of_squares, 11);
  EXPECT_EQ(histogram_of(std::vector<float>(5, 0.5F)).counts, std::vector<double>{5});
  EXPECT_TRUE(histogram_of(std::vector<float>{}).counts.empty());
}

}  // namespace
}  // namespace tandem::metrics
