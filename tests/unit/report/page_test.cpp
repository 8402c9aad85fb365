#include "tandem/report/page.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "sections.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/metrics/run_folder.hpp"

namespace tandem::report {
namespace {

using tandem::testing::TempDir;

constexpr char kHostile[] = "<script>alert(1)</script>\x1b[31m\"'&";

// A folder in which everything that can be a text is `text` with the name of its place after it.
std::string write_run(const TempDir& folder, const std::string& text) {
  const auto at = [&](const char* place) { return text + place; };
  const auto run = metrics::RunFolder::create(folder / "runs", "one");
  run.write_config(at("option") + " = " + at("value") + "\nmodel = " + at("model") + "\n");
  run.write_manifest({{"run_id", at("run id")},
                      {"versions",
                       {{"tandem", at("tandem")},
                        {"source", at("source")},
                        {"libtorch", at("libtorch")},
                        {"mpi", at("mpi")}}},
                      {"command_line", at("command line")},
                      {"data", {{"name", at("data")}, {"digest", text}}},
                      {"ranks", {{{"rank", 0}, {"host", at("host")}, {"device", at("gpu")}}}},
                      {"segments", {{{"started", text}}}}});
  run.write_summary(
      {{"exit_reason", at("exit reason")}, {"error", at("error")}, {"weights_sha256", text}});
  run.write_evaluation(
      {{"step", 1},
       {"classes", {at("class")}},
       {"confusion", Json::parse("[[1]]")},
       {"shape", {1, 1, 1}},
       {"worst",
        {{{"index", 0}, {"label", 0}, {"predicted", 0}, {"loss", 1}, {"pixels", "AA=="}}}}});
  const Json step{{"event", "step"}, {"step", 1}, {"epoch", 1},
                  {"time", text},    {"loss", 2}, {text, 3}};
  const Json note{{"event", at("event")}, {"step", 1}, {"time", 1}, {"text", at("note")}};
  const Json seconds{{"event", "step"}, {"step", 1}, {"step_seconds", 2}, {at("metric"), 3}};
  write_file_atomically(run.metrics_path(), step.dump() + "\n" + note.dump() + "\nnone of ours\n");
  write_file_atomically(run.rank_metrics_path(0), seconds.dump() + "\n");
  std::filesystem::create_directory(run.rank_metrics_path(1));  // a fault, which names its path
  return run.path();
}

std::string page_of(const std::vector<std::string>& folders) {
  std::vector<metrics::RunRecord> records;
  for (const std::string& folder : folders) records.push_back(metrics::read_run(folder));
  return render_page(read_runs(std::move(records)), 1795265306);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Page, ShowsEveryTextFromOutsideAsText) {
  const TempDir first;
  const TempDir second;
  const std::string one = write_run(first, kHostile);
  const std::string other = write_run(second, std::string(kHostile) + "other");
  for (const auto& folders :
       {std::vector<std::string>{one}, std::vector<std::string>{one, other}}) {
    const std::string page = page_of(folders);
    EXPECT_EQ(count_of(page, "<script"), 0U);
    EXPECT_EQ(count_of(page, "\x1b"), 0U);
    const std::string shown = "&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m&quot;&#39;&amp;";
    for (const char* place :
         {"option", "value", "model", "run id", "tandem", "libtorch", "command line", "data",
          "host", "gpu", "exit reason", "error", "class", "event", "note", "metric"}) {
      EXPECT_GE(count_of(page, shown + place), 1U) << place;
    }
    if (folders.size() == 1) continue;
    for (const char* place : {"source", "mpi", "otherhost", "otheroption", "otherdata"}) {
      EXPECT_GE(count_of(page, shown + place), 1U) << place << " differs";
    }
    EXPECT_GE(count_of(page, "--" + shown + "option"), 1U) << "differs";
  }
}

TEST(Page, ShowsAPathAsText) {
  const TempDir folder;
  const std::string path = folder / "<script>\x1b";
  std::filesystem::rename(write_run(folder, "x"), path);
  const std::string page = page_of({path});
  EXPECT_EQ(count_of(page, "<script"), 0U);
  EXPECT_EQ(count_of(page, "\x1b"), 0U);
  EXPECT_GE(count_of(page, "&lt;script&gt;\\x1b"), 2U) << "the folder, and a fault in it";
}

TEST(Page, SaysFirstWhatIsAskedFirst) {
  const TempDir folder;
  const auto run = metrics::RunFolder::create(folder / "runs", "one");
  run.write_config("model = mlp\n");
  run.write_summary({{"exit_reason", "completed"}, {"test_accuracy", 0.816}});
  const Json evaluation{{"event", "eval"}, {"step", 7}, {"epoch", 1}, {"test_accuracy", 0.9}};
  write_file_atomically(run.metrics_path(), evaluation.dump() + "\n");
  // The last of three is 20 ms later than the others, and most of that in its data.
  const char* const seconds[] = {"0.001,\"compute_seconds\":0.01", "0.001,\"compute_seconds\":0.01",
                                 "0.019,\"compute_seconds\":0.012"};
  for (int rank = 0; rank < 3; ++rank) {
    write_file_atomically(run.rank_metrics_path(rank),
                          std::string(R"({"event":"step","step":1,"step_seconds":0.04,)") +
                              "\"comm_seconds\":0.002,\"data_seconds\":" + seconds[rank] + "}\n");
  }
  const std::string page = page_of({run.path()});
  const std::size_t accuracy = page.find("test accuracy</th><td>0.8160</td>");
  const std::size_t best = page.find("best test accuracy</th><td>0.9000 at step 7</td>");
  const std::size_t slowest = page.find(
      "slowest rank</th><td>rank 2: +20 ms a step (50 %) in data; the others wait for it");
  EXPECT_LT(accuracy, best);
  EXPECT_LT(best, slowest);
  EXPECT_LT(slowest, page.find("images per second"));
  write_file_atomically(run.rank_metrics_path(2), read_file(run.rank_metrics_path(0)));
  EXPECT_EQ(
      count_of(page_of({run.path()}), "none stands out; the last is rank 0, by 0 s a step (0 %)"),
      1U);
}

TEST(Page, NeedsNothingBesideIt) {
  const TempDir folder;
  const std::string page = page_of({write_run(folder, "x")});
  for (const char* part :
       {"http://", "https://", "url(", "@import", "<link", "<script", "src=\"/"}) {
    const std::size_t of_namespace = part == std::string("http://") ? 1 : 0;
    EXPECT_EQ(count_of(page, part), of_namespace) << part;
  }
  EXPECT_EQ(count_of(page, "default-src &#39;none&#39;"), 1U);
  EXPECT_GE(count_of(page, "src=\"data:image/png;base64,"), 1U);
  EXPECT_EQ(count_of(page, "prefers-color-scheme: dark"), 1U);
}

TEST(Page, OfARunThatHasJustBegunSaysSo) {
  const TempDir folder;
  const auto run = metrics::RunFolder::create(folder / "runs", "one");
  run.write_config("model = mlp\n");
  const std::string page = page_of({run.path()});
  EXPECT_EQ(count_of(page, ">running<"), 1U);
  EXPECT_EQ(count_of(page, "while training went on"), 1U);
  EXPECT_EQ(count_of(page, "metrics.jsonl has no numbers yet"), 1U);
}

TEST(Page, OfSeveralRunsNamesWhatDiffers) {
  const TempDir first;
  const TempDir second;
  const std::string one = write_run(first, "x");
  const std::string other = write_run(second, "x");
  EXPECT_EQ(count_of(page_of({one, other}), "have the same options"), 1U);
  write_file_atomically(other + "/config.ini", "xoption = xvalue\nmodel = xmodel\nlr = 0.5\n");
  const std::string page = page_of({one, other});
  EXPECT_EQ(count_of(page, "<th scope=\"row\">--lr</th><td>–</td><td>0.5</td>"), 1U);
  EXPECT_EQ(count_of(page, "<th scope=\"row\">--model</th>"), 0U) << "it is the same in both";
  EXPECT_GE(count_of(page, one), 1U) << "two runs of one id are told apart by their folders";
}

TEST(Page, OfManyRunsOfManyClassesStaysSmall) {
  const TempDir folder;
  constexpr std::size_t kClasses = 32;
  Json classes = Json::array();
  for (std::size_t i = 0; i < kClasses; ++i) classes.push_back("class " + std::to_string(i));
  const std::vector<std::vector<int>> confusion(kClasses, std::vector<int>(kClasses, 12345));
  const std::string pixels((32 * 32 * 4), 'A');  // base64 of three planes
  Json worst = Json::array();
  for (int i = 0; i < 24; ++i) {
    worst.push_back(
        {{"index", i}, {"label", 0}, {"predicted", 1}, {"loss", 1}, {"pixels", pixels}});
  }
  std::string lines;
  for (int step = 1; step <= 2000; ++step) {
    const double value = 0.123456 * (step % 7);
    lines += Json({{"event", "step"},
                   {"step", step},
                   {"epoch", step * 0.01},
                   {"loss", value},
                   {"accuracy", value},
                   {"images_per_second", value},
                   {"lr", value},
                   {"grad_norm", value}})
                 .dump() +
             "\n";
  }
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < kMaxRuns; ++i) {
    const auto run = metrics::RunFolder::create(folder / "runs", "run-" + std::to_string(i));
    run.write_config("model = mlp\n");
    run.write_evaluation({{"step", 1},
                          {"classes", classes},
                          {"confusion", confusion},
                          {"shape", {3, 32, 32}},
                          {"worst", worst}});
    write_file_atomically(run.metrics_path(), lines);
    runs.push_back(run.path());
  }
  EXPECT_EQ(count_of(page_of({runs[0]}), "class=\"confusion\""), 1U);
  const std::string page = page_of(runs);
  EXPECT_EQ(count_of(page, "mixed up most"), kMaxRuns);
  EXPECT_LT(page.size(), 2'000'000U);
}

TEST(Page, OfTheEndShowsTheSummaryThatIsAboutToBeWritten) {
  const TempDir folder;
  const auto run = metrics::RunFolder::create(folder / "runs", "one");
  run.write_config("model = mlp\n");
  write_report_at_end(run.path(), {{"exit_reason", "completed"}, {"test_accuracy", 0.875}},
                      run.report_path());
  const std::string page = read_file(run.report_path());
  EXPECT_EQ(count_of(page, ">completed<"), 1U);
  EXPECT_GE(count_of(page, "0.8750"), 1U);
  EXPECT_EQ(count_of(page, "while training went on"), 0U);
  EXPECT_FALSE(file_exists(run.summary_path()));
}

TEST(Page, OfTheEndReadsNoMoreThanItMay) {
  const TempDir folder;
  const std::string path = write_run(folder, "x");
  const std::string page = path + "/report.html";
  const std::string ranks = path + "/ranks/rank-0000.jsonl";
  const std::uint64_t of_run = read_file(path + "/metrics.jsonl").size();
  const std::uint64_t of_ranks = read_file(ranks).size();
  write_report_at_end(path, {{"exit_reason", "completed"}}, page, of_run + of_ranks);
  EXPECT_EQ(count_of(read_file(page), "Means per step"), 1U);
  EXPECT_EQ(count_of(read_file(page), "tandem report"), 0U);
  write_report_at_end(path, {{"exit_reason", "completed"}}, page, of_run + of_ranks - 1);
  EXPECT_EQ(count_of(read_file(page), "Means per step"), 0U);
  EXPECT_EQ(count_of(read_file(page), "`tandem report` of its folder"), 1U);
  write_report_at_end(path, {{"exit_reason", "completed"}}, page, of_run - 1);
  EXPECT_EQ(count_of(read_file(page), "`tandem report` of the folder"), 1U);
}

TEST(Page, IsNotWrittenWhereARunIsNotThere) {
  const TempDir folder;
  EXPECT_THROW(write_report({folder / "absent"}, folder / "page.html"), MissingInputError);
  EXPECT_FALSE(file_exists(folder / "page.html"));
}

TEST(ColumnsFor, ShareTheRoomOfThePage) {
  EXPECT_GE(columns_for(1), 400U);
  for (std::size_t runs = 1; runs <= kMaxRuns; ++runs) EXPECT_GE(columns_for(runs), 100U);
}

}  // namespace
}  // namespace tandem::report
