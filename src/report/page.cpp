#include "tandem/report/page.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "sections.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/mark.hpp"
#include "tandem/core/version.hpp"

namespace tandem::report {
namespace {

// No resource is loaded and no script runs, even if markup got in.
constexpr char kPolicy[] =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
    "'none'";

std::string title_of(const Runs& runs) {
  return runs.size() == 1 ? shortened(runs.front().name, 100)
                          : std::to_string(runs.size()) + " runs";
}

Html head_of(const Runs& runs) {
  return element(
      "head",
      element("meta", {{"charset", "utf-8"}}) +
          element("meta",
                  {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}) +
          element("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", kPolicy}}) +
          element("meta", {{"name", "referrer"}, {"content", "no-referrer"}}) +
          element("meta",
                  {{"name", "generator"}, {"content", std::string(kMarkGenerator) + version()}}) +
          element("title", Html(title_of(runs) + " – tandem")) + page_style());
}

// The sections of one run; under its name if there are several.
Html sections_of(const RunView& run, std::size_t runs) {
  Html sections = answers_section(run, runs) + rank_section(run, runs) + system_section(run) +
                  notes_section(run, runs) + options_section(run);
  if (runs == 1 || sections.empty()) return sections;
  return element("div", {{"class", "run"}},
                 element("h2", Html("Run ") + Html(shortened(run.name, 100))) + sections);
}

std::uint64_t bytes_of_ranks(const metrics::RunRecord& record) {
  std::uint64_t bytes = 0;
  for (const auto& [rank, path] : record.rank_metrics()) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error) bytes += size;
  }
  return bytes;
}

void read_lines_of(RunView& run, std::size_t runs, std::uint64_t most_bytes) {
  const std::string path = run.record.metrics_path();
  std::uint64_t left = most_bytes;
  if (file_exists(path)) {
    const std::uint64_t size = File::open_for_reading(path).size();
    if (size > most_bytes) {
      run.record.faults.push_back(
          path + ": of its " + std::to_string(size) + " bytes only the last " +
          std::to_string(most_bytes) +
          " were read before the run ended; `tandem report` of the folder shows all");
    }
    run.lines = metrics::read_metric_lines(path, {most_bytes});
    run.timeline = Timeline(run.record.manifest, run.lines);
    left -= std::min(left, size);
  }
  const std::uint64_t of_ranks = bytes_of_ranks(run.record);
  if (of_ranks > left) {
    run.ranks.left_out_bytes = static_cast<double>(of_ranks);
    return;
  }
  const double last_step = std::max(1.0, run.lines.last_step());
  run.ranks = read_ranks(run.record, {0, last_step, columns_for(runs) / 2});
}

// Runs with the same id are named by their folders.
void name_runs(Runs& runs) {
  std::map<std::string, int> count;
  for (const RunView& run : runs) ++count[run.record.run_id];
  for (RunView& run : runs) {
    run.name = count[run.record.run_id] > 1 ? run.record.path : run.record.run_id;
  }
}

}  // namespace

std::size_t columns_for(std::size_t runs) {
  constexpr std::size_t kBytes = 1'300'000;   // of all curves
  constexpr std::size_t kBytesOfColumn = 20;  // two points
  // For each of three axes: six curves, smoothed or of epochs, and four curves of all lines.
  constexpr std::size_t kCurvesOfRun = std::size_t{3} * 6;
  constexpr std::size_t kCurvesOfLines = std::size_t{3} * 4;
  constexpr std::size_t kCurvesOfRanks = kMaxRankMetrics * kMaxRankCurves / 2;
  const bool has_all = runs <= kMaxRunsWithRankCurves;
  const std::size_t of_run = kCurvesOfRun + (has_all ? kCurvesOfLines + kCurvesOfRanks : 0);
  return std::clamp<std::size_t>(kBytes / kBytesOfColumn / (runs * of_run), 100, 600);
}

Runs read_runs(std::vector<metrics::RunRecord> records, std::uint64_t most_bytes) {
  Runs runs;
  for (metrics::RunRecord& record : records) {
    RunView run;
    run.record = std::move(record);
    try {
      read_lines_of(run, records.size(), most_bytes);
    } catch (const Error& error) {
      run.record.faults.push_back(error.what());
    }
    if (records.size() > kMaxRunsWithRankCurves) run.ranks.curves = {};
    runs.push_back(std::move(run));
  }
  name_runs(runs);
  return runs;
}

std::string render_page(const Runs& runs, double now) {
  const bool goes_on = std::any_of(
      runs.begin(), runs.end(), [](const RunView& run) { return run.record.state() == "running"; });
  const Html state = runs.size() == 1 ? state_of(runs.front()) : Html();
  Html body =
      element("header", element("h1", Html(title_of(runs))) + state +
                            element("p", Html("tandem " + version() + ", read " + format_time(now) +
                                              (goes_on ? ", while training went on" : ""))));
  Html sections = summary_section(runs) + differences_section(runs) + curve_section(runs);
  for (const RunView& run : runs) sections += sections_of(run, runs.size());
  body += element("main", sections);
  return "<!DOCTYPE html>\n" +
         element("html", {{"xmlns", "http://www.w3.org/1999/xhtml"}, {"lang", "en"}},
                 head_of(runs) + element("body", body))
             .markup() +
         "\n";
}

void write_report(const std::vector<std::string>& folders, const std::string& output) {
  std::vector<metrics::RunRecord> records;
  for (const std::string& folder : folders) records.push_back(metrics::read_run(folder));
  const double read_at = unix_seconds();
  write_file_atomically(output, render_page(read_runs(std::move(records)), read_at));
}

void write_report_at_end(const std::string& folder, const Json& summary, const std::string& output,
                         std::uint64_t most_bytes) {
  metrics::RunRecord record = metrics::read_run(folder);
  record.summary = summary;
  const double read_at = unix_seconds();
  write_file_atomically(output, render_page(read_runs({std::move(record)}, most_bytes), read_at));
}

}  // namespace tandem::report
