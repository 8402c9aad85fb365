#include "tandem/report/run_table.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/run_folder.hpp"

namespace tandem::report {
namespace {

using tandem::testing::TempDir;

std::vector<std::string> column_of(const std::vector<Json>& rows, const std::string& column) {
  std::vector<std::string> values;
  for (const Json& row : rows) values.push_back(row.at(column).dump());
  return values;
}

TEST(RunTable, ListsWhatARunSaysOfItself) {
  const TempDir folder;
  {
    const auto run = metrics::RunFolder::create(folder / "runs", "ended");
    run.write_config("model = mlp\n");
    run.write_manifest({{"run_id", "ended"},
                        {"data", {{"name", "shapes"}}},
                        {"ranks", {1, 2, 3}},
                        {"segments", {{{"started", 1795265306.9}}}}});
    run.write_summary({{"exit_reason", "stopped"},
                       {"steps", 250},
                       {"test_accuracy", 0.5},
                       {"startup_seconds", 1.5},
                       {"train_seconds", 60},
                       {"evaluation_seconds", 2.2}});
  }
  const auto run = metrics::RunFolder::create(folder / "runs", "going");
  run.write_manifest({{"run_id", "going"}});
  write_file_atomically(run.metrics_path(),
                        "{\"event\":\"step\",\"step\":20,\"epoch\":0.5,\"loss\":2}\n{\"eve");
  write_file_atomically(folder / "runs/file", "");
  std::filesystem::create_directory(folder / "runs/other");
  const RunList list = list_runs(folder / "runs");
  EXPECT_TRUE(list.faults.empty());
  EXPECT_EQ(column_of(list.rows, "run"), (std::vector<std::string>{"\"ended\"", "\"going\""}));
  EXPECT_EQ(column_of(list.rows, "state"),
            (std::vector<std::string>{"\"stopped\"", "\"running\""}));
  EXPECT_EQ(column_of(list.rows, "steps"), (std::vector<std::string>{"250", "20"}));
  EXPECT_EQ(column_of(list.rows, "train_loss"), (std::vector<std::string>{"null", "2"}));
  EXPECT_EQ(list.rows[0].at("started"), "2026-11-21T12:48:26Z");
  EXPECT_EQ(list.rows[0].at("ranks"), 3);
  EXPECT_EQ(list.rows[0].at("duration_seconds"), 64);
  EXPECT_TRUE(list.rows[1].at("duration_seconds").is_null()) << "it says no start";
  EXPECT_EQ(list.rows[0].at("model"), "mlp");
  for (const Json& row : list.rows) EXPECT_EQ(row.size(), run_columns().size());
  EXPECT_THROW(list_runs(folder / "absent"), MissingInputError);
  EXPECT_THROW(list_runs(folder / "runs/file"), DataError);
}

TEST(RunTable, NamesACopyByItsFolder) {
  const TempDir folder;
  for (const std::string name : {"run", "copy"}) {
    std::filesystem::create_directory(folder / name);
    write_file_atomically(folder / (name + "/manifest.json"), R"({"run_id":"run"})");
  }
  EXPECT_EQ(column_of(list_runs(folder.path()).rows, "run"),
            (std::vector<std::string>{"\"copy\"", "\"run\""}));
}

TEST(RunTable, FindsAnEvaluationFarBack) {
  const TempDir folder;
  const auto run = metrics::RunFolder::create(folder / "runs", "going");
  run.write_config("eval-every = 1\n");
  std::string lines = R"({"event":"eval","step":1,"test_accuracy":0.75,"test_loss":1.5})"
                      "\n";
  std::uint64_t step = 1;
  while (lines.size() < (std::size_t{3} << 20)) {
    lines += R"({"event":"step","loss":2,"step":)" + std::to_string(++step) + "}\n";
  }
  write_file_atomically(run.metrics_path(), lines);
  EXPECT_EQ(column_of(list_runs(folder / "runs").rows, "test_accuracy"),
            std::vector<std::string>{"0.75"});
  run.write_config("eval-every = 0\n");  // then nobody looks for one
  const RunList list = list_runs(folder / "runs");
  EXPECT_EQ(column_of(list.rows, "test_accuracy"), std::vector<std::string>{"null"});
  EXPECT_EQ(list.rows.front().at("steps"), step);
}

TEST(RunTable, NamesWhatCannotBeRead) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "torn");
  write_file_atomically(folder / "torn/manifest.json", "{");
  const RunList list = list_runs(folder.path());
  EXPECT_EQ(column_of(list.rows, "run"), (std::vector<std::string>{"\"torn\""}));
  ASSERT_EQ(list.faults.size(), 1U);
  EXPECT_NE(list.faults.front().find("torn/manifest.json"), std::string::npos);
  EXPECT_EQ(list.rows.front().at("state"), "damaged");
  const testing::FailingCalls calls("stat", "locked/config.ini", EACCES);
  std::filesystem::create_directory(folder / "locked");
  const RunList others = list_runs(folder.path());
  EXPECT_EQ(others.rows.size(), 1U) << "a folder that may not be searched is no end of the list";
  EXPECT_EQ(others.faults.size(), 2U);
}

TEST(RunTable, SortsEitherWayAndPutsMissingValuesLast) {
  const auto sorted = [](bool is_descending) {
    std::vector<Json> rows;
    for (const char* value : {"null", "10", "9.5", "\"text\"", "-1"}) {
      rows.push_back({{"steps", Json::parse(value)}});
    }
    sort_runs(rows, "steps", is_descending);
    return column_of(rows, "steps");
  };
  EXPECT_EQ(sorted(false), (std::vector<std::string>{"-1", "9.5", "10", "\"text\"", "null"}));
  EXPECT_EQ(sorted(true), (std::vector<std::string>{"10", "9.5", "-1", "\"text\"", "null"}));
}

TEST(Csv, QuotesAsItsStandardSays) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("a;b"), "\"a;b\"") << "which separates where a comma is in numbers";
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("a\nb\x1b"), "a\\x0ab\\x1b");
}

TEST(Csv, HoldsNoFormula) {
  for (const char* text : {"=1+1", "+1", "-1", "@SUM(A1)", "|x", "%x", " =1", "\"=1", "'=1",
                           "\xEF\xBC\x9D"
                           "1"}) {
    const std::string field = csv_field(text);
    EXPECT_EQ(field.substr(0, 2), "\"'") << text;
  }
  EXPECT_EQ(csv_field("\t=1"), "\\x09=1") << "begins with a letter now";
  EXPECT_EQ(csv_field("20261121-1"), "20261121-1");
}

TEST(Csv, LeavesNumbersAsNumbers) {
  Json row;
  for (const std::string& column : run_columns()) row[column] = nullptr;
  row["run"] = "a";
  row["train_loss"] = -1.5;
  EXPECT_EQ(
      to_csv({row}),
      "run,state,started,ranks,model,data,steps,epochs,images_per_second,train_loss,test_loss,"
      "test_accuracy,train_seconds,duration_seconds,test_map\r\na,,,,,,,,,-1.5,,,,,\r\n");
}

std::size_t widest_line(const std::vector<std::vector<std::string>>& cells) {
  std::size_t widest = 0;
  for (const std::string& line : split(format_table(cells), '\n')) {
    widest = std::max(widest, line.size());
  }
  return widest;
}

TEST(ShortCells, FitTheWidthWithTheColumnsThatSayMost) {
  Json row;
  for (const std::string& column : run_columns()) row[column] = nullptr;
  row["run"] = "first";
  row["state"] = "completed";
  row["started"] = "2026-11-21T12:48:26Z";
  row["duration_seconds"] = 3723;
  row["model"] = "resnet18";
  row["data"] = "cifar10";
  row["test_accuracy"] = 0.9;
  const auto cells = to_short_cells({row}, 100);
  EXPECT_EQ(cells.front(),
            (std::vector<std::string>{"run", "state", "started (UTC)", "duration", "ranks", "model",
                                      "data", "epochs", "test_accuracy"}));
  EXPECT_EQ(cells.back(),
            (std::vector<std::string>{"first", "completed", "2026-11-21 12:48", "1:02:03", "-",
                                      "resnet18", "cifar10", "-", "0.9000"}));
  EXPECT_LE(widest_line(cells), 100U);
  row["run"] = std::string(22, 'a');
  const auto narrower = to_short_cells({row}, 100);
  EXPECT_LE(widest_line(narrower), 100U);
  EXPECT_EQ(narrower.front(), (std::vector<std::string>{"run", "state", "started (UTC)", "duration",
                                                        "model", "data", "test_accuracy"}));
  row["run"] = std::string(200, 'a');
  EXPECT_EQ(to_short_cells({row}, 100).back().front(), row["run"]) << "a name to be pasted";
  EXPECT_EQ(to_short_cells({row}, 100).front().size(), 4U);
}

TEST(ShortCells, AreForPeople) {
  Json row;
  for (const std::string& column : run_columns()) row[column] = nullptr;
  row["run"] = "a\x1b";
  row["ranks"] = 12345;
  row["epochs"] = 1.0 / 3;
  row["test_accuracy"] = 1.0 / 3;
  const std::vector<std::string> cells = to_short_cells({row}, 100).back();
  EXPECT_EQ(cells[0], "a\\x1b");
  EXPECT_EQ(cells[1], "-");
  EXPECT_EQ(cells[4], "12,345");
  EXPECT_EQ(cells[7], "0.33");
  EXPECT_EQ(cells[8], "0.3333");
}

}  // namespace
}  // namespace tandem::report
