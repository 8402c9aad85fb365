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

metrics::RunFolder run_of_mlp(const TempDir& folder, const std::string& id = "one") {
  auto run = metrics::RunFolder::create(folder / "runs", id);
  run.write_config("model = mlp\n");
  return run;
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

TEST(Page, NamesTheMeanAveragePrecisionOfMultiLabelRuns) {
  const TempDir folder;
  const auto run = run_of_mlp(folder);
  run.write_summary({{"exit_reason", "completed"}, {"test_map", 0.8}});
  const Json evaluation{{"event", "eval"}, {"step", 7}, {"epoch", 1}, {"test_map", 0.9}};
  write_file_atomically(run.metrics_path(), evaluation.dump() + "\n");
  const std::string page = page_of({run.path()});
  EXPECT_NE(page.find("best test mAP</th><td>0.9000 at step 7</td>"), std::string::npos);
  EXPECT_EQ(page.find("best test accuracy"), std::string::npos);
}

TEST(Page, SaysFirstWhatIsAskedFirst) {
  const TempDir folder;
  const auto run = run_of_mlp(folder);
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
      count_of(page_of({run.path()}), "none is slow; the last is rank 0, by 0 s a step (0 %)"), 2U)
      << "in the headline and in the table of all results";
}

// A run of two ranks with one thread each, `cpu_percent` of a core and the other metrics as given.
std::string headline_of(const TempDir& folder, const std::string& more) {
  const auto run = run_of_mlp(folder);
  const Json rank{{"host", "n1"}, {"device", "cpu"}, {"threads", 1}};
  run.write_manifest({{"run_id", "one"}, {"ranks", {rank, rank}}});
  for (int number = 0; number < 2; ++number) {
    write_file_atomically(
        run.rank_metrics_path(number),
        R"({"event":"step","step":1,"step_seconds":0.04,"comm_seconds":0.01,"data_seconds":0,)"
        R"("compute_seconds":0.02,)" +
            more + "}\n");
  }
  const std::string page = page_of({run.path()});
  const std::size_t begin = page.find("class=\"tiles\"");
  return page.substr(begin, page.find("<details>") - begin);
}

TEST(Page, NamesABusyHostAndACpuLimit) {
  for (const auto& [more, expected] : {
           std::pair<const char*, const char*>{
               R"("cpu_percent":22,"forced_switches_per_second":145)",
               "the host is busy: ranks had 0.22 of a core each<"},
           {R"("cpu_percent":30,"forced_switches_per_second":99,"host_cpu_percent":97.6)",
            "the host is busy: ranks had 0.30 of a core each; all programs used 98 % of its CPUs<"},
           {R"("cpu_percent":95,"forced_switches_per_second":145)", ""},  // it lost little
           {R"("cpu_percent":22,"forced_switches_per_second":1)", ""},    // it waited
           {R"("cpu_percent":50,"throttled_percent":40)",
            "a CPU limit of the host held ranks back 40 % of the time: they had 0.50 of a core"},
       }) {
    const TempDir folder;
    const std::string headline = headline_of(folder, more);
    if (*expected != 0) {
      EXPECT_EQ(count_of(headline, expected), 1U) << headline;
    } else {
      EXPECT_EQ(count_of(headline, "had"), 0U) << headline;
    }
  }
}

TEST(Page, HasItsHeadlineBeforeEverythingElse) {
  const TempDir folder;
  const std::string page = page_of({write_run(folder, "x")});
  std::size_t before = 0;
  for (const char* part :
       {"class=\"tiles\"", "<details>", ">Curves<", ">Answers<", ">Ranks<", ">Options<"}) {
    const std::size_t at = page.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    EXPECT_GT(at, before) << part;
    before = at;
  }
}

// 60 steps: 20, a pause of an hour, then 40; a line every two steps.
std::string write_resumed_run(const TempDir& folder) {
  const auto run = metrics::RunFolder::create(folder / "runs", "one");
  run.write_config("model = mlp\nlabel-smoothing = 0.1\naugment = flip\n");
  run.write_manifest(
      {{"run_id", "one"},
       {"segments",
        {{{"started", 1000}, {"first_step", 0}}, {{"started", 5000}, {"first_step", 20}}}}});
  std::string lines;
  for (int step = 1; step <= 60; ++step) {
    lines += Json({{"event", "step"},
                   {"step", step},
                   {"epoch", step / 20.0},
                   {"time", step <= 20 ? 1000 + step : 4980 + step},
                   {"loss", 2.0},
                   {"lr", 0.1}})
                 .dump() +
             "\n";
  }
  write_file_atomically(run.metrics_path(), lines);
  return run.path();
}

TEST(Page, DrawsCurvesOverStepsEpochsAndTimeAndMarksAResume) {
  const TempDir folder;
  const std::string page = page_of({write_resumed_run(folder)});
  EXPECT_EQ(count_of(page, "type=\"radio\""), 3U);
  EXPECT_EQ(count_of(page, "id=\"over-steps\" checked"), 1U);
  for (const char* drawn :
       {"Loss: from 2 to 2 over steps 1 to 60", "Loss: from 2 to 2 over epochs 0.05 to 3",
        "Loss: from 2 to 2 over seconds 1 to 60"}) {
    EXPECT_EQ(count_of(page, drawn), 1U) << drawn;
  }
  EXPECT_EQ(count_of(page, ">resumed</span>"), 3U * 2U) << "in both drawings of each axis";
  // 20 is at 32.2 % of the way from 1 to 60; the pause takes no room.
  EXPECT_EQ(count_of(page, "left:32.20%\">resumed"), 3U * 2U);
  EXPECT_EQ(count_of(page, "includes label smoothing 0.1 and is of augmented images (flip)"), 3U);
  EXPECT_EQ(count_of(page, "c0 pale"), 3U) << "the loss, not the learning rate";
}

TEST(Page, SortsMistakesByTheirNumber) {
  const TempDir folder;
  const auto run = run_of_mlp(folder);
  run.write_evaluation({{"step", 1},
                        {"classes", {"cat", "dog", "owl"}},
                        {"confusion", Json::parse("[[6, 3, 1], [7, 3, 0], [0, 0, 10]]")},
                        {"shape", {1, 1, 1}},
                        {"worst", Json::array()}});
  const std::string page = page_of({run.path()});
  std::size_t before = 0;
  for (const char* part : {">dog → cat<", ">cat → dog<", ">cat → owl<", "Accuracy of each class",
                           ">dog<", ">cat<", ">owl<"}) {
    const std::size_t at = page.find(part, before);
    ASSERT_NE(at, std::string::npos) << part;
    before = at;
  }
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
  const auto run = run_of_mlp(folder);
  const std::string page = page_of({run.path()});
  EXPECT_EQ(count_of(page, ">running<"), 2U);
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

TEST(Page, OfSeveralRunsHasDifferencesAndMarksTheBest) {
  const TempDir folder;
  std::vector<std::string> runs;
  const Json summaries[] = {
      {{"test_accuracy", 0.5}, {"test_loss", 2}, {"images_per_second", 4000}, {"epochs", 6}},
      {{"test_accuracy", 0.75}, {"test_loss", 1.5}, {"images_per_second", 3000}, {"epochs", 2}},
      {{"test_accuracy", 0.625}, {"epochs", 6}}};
  for (const Json& summary : summaries) {
    const auto run = run_of_mlp(folder, std::to_string(runs.size()));
    run.write_summary(summary);
    runs.push_back(run.path());
  }
  const std::string two = page_of({runs[0], runs[1]});
  const std::string best = "<td><strong class=\"best\">";
  for (const std::string& row :
       {"test accuracy</th><td>0.5000</td>" + best + "0.7500 ★ best</strong></td><td>+0.2500<",
        "test loss</th><td>2</td>" + best + "1.5 ★ best</strong></td><td>−0.5 (−25 %)<",
        "images per second</th>" + best + "4,000 ★ best</strong></td><td>3,000</td><td>−1,000 (−25",
        std::string("epochs</th><td>6</td><td>2</td><td>−4 (−67 %)<"),
        std::string("The runs trained for 2 to 6 epochs")}) {
    EXPECT_EQ(count_of(two, row), 1U) << row;
  }
  const std::string all = page_of(runs);
  EXPECT_EQ(count_of(all, ">extent<"), 2U);
  EXPECT_EQ(count_of(all, "0.7500 ★ best</strong></td><td>0.6250</td><td>0.2500<"), 1U);
  EXPECT_EQ(count_of(all, "★"), 1U) << "one run has no loss and no speed";
  EXPECT_EQ(count_of(page_of({runs[0], runs[2]}), "class=\"warning\""), 0U) << "both have 6";
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
    const auto run = run_of_mlp(folder, "run-" + std::to_string(i));
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
  EXPECT_EQ(count_of(page, "Most frequent mistakes"), kMaxRuns);
  EXPECT_LT(page.size(), 2'000'000U);
}

TEST(Page, OfTheEndShowsTheSummaryThatIsAboutToBeWritten) {
  const TempDir folder;
  const auto run = run_of_mlp(folder);
  write_report_at_end(run.path(), {{"exit_reason", "completed"}, {"test_accuracy", 0.875}},
                      run.report_path());
  const std::string page = read_file(run.report_path());
  EXPECT_EQ(count_of(page, ">completed<"), 2U);
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
