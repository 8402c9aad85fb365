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
#include "tandem/core/version.hpp"

namespace tandem::report {
namespace {

// Colors of curves: Okabe and Ito, "Color Universal Design" (2008), told apart by color-blind
// readers too; for the second eight the lines are dashed.
constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --faint: #5d6670; --line: #d5dae0; --box: #f6f8fa;
  --c0: #0072b2; --c1: #d55e00; --c2: #00805e; --c3: #b0568e; --c4: #a87800; --c5: #2f8fc4; --c6: #6b6bd6; --c7: #6e6e6e; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --ink: #e6e9ed; --faint: #9aa4af; --line: #39414a; --box: #1d2228;
    --c0: #4aa8e0; --c1: #f08a45; --c2: #35c79b; --c3: #e59cc8; --c4: #e6b93c; --c5: #8fd0f5; --c6: #a5a5ff; --c7: #b5b5b5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 110rem; background: var(--ground); color: var(--ink);
  font: 0.95rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 0.6rem; } h3 { font-size: 1rem; }
p { margin: 0.4rem 0; max-width: 70rem; } small, header p { color: var(--faint); }
.scroll { overflow-x: auto; overflow-wrap: break-word; border: 1px solid var(--line); border-radius: 6px; max-width: max-content; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; background: var(--box); } tr:last-child th, tr:last-child td { border-bottom: 0; }
th, td { overflow-wrap: break-word; } td { min-width: 4rem; max-width: 30rem; }
.ranks th, .ranks td { white-space: nowrap; } .system small { display: block; } .system th:first-child { white-space: normal; min-width: 9rem; }
.scroll + .charts { margin-top: 1.2rem; } .scroll + details { margin-top: 0.5rem; } details .scroll { margin-top: 0.5rem; }
.state { font-weight: 600; } .completed { color: var(--c2); } .failed { color: var(--c1); } .running { color: var(--c0); }
.charts { display: grid; gap: 1.2rem 1.5rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
.charts figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; } figcaption small { font-weight: 400; }
.plot { display: grid; grid-template-columns: 4.6rem minmax(0, 1fr); grid-template-rows: 13rem 1.5rem; padding: 0.6rem 1.6rem 0 0; }
.plot svg { width: 100%; height: 100%; display: block; overflow: visible; border: 1px solid var(--line); }
.plot path { fill: none; stroke: currentColor; stroke-width: 1.4px; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.plot .grid { color: var(--line); stroke-width: 1px; }
.plot .dots { stroke-width: 6px; stroke-linecap: round; }
.again path { stroke-dasharray: 5 3; }
.y, .x { position: relative; font-size: 0.78rem; color: var(--faint); font-variant-numeric: tabular-nums; }
.y span { position: absolute; right: 0.4rem; transform: translateY(50%); white-space: nowrap; }
.x { grid-column: 2; } .x span { position: absolute; top: 0.15rem; transform: translateX(-50%); white-space: nowrap; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0.2rem 0 0.6rem; padding: 0; font-size: 0.85rem; }
.key li::before { content: ""; display: inline-block; width: 1rem; margin-right: 0.35rem; vertical-align: middle;
  border-top: 3px solid currentColor; } .key .again::before { border-top-style: dashed; }
.bar { width: 12rem; height: 0.9rem; display: block; } .bar rect { fill: currentColor; }
.confusion td { padding: 0; min-width: 2.6rem; text-align: right; } .shade { display: block; padding: 0.25rem 0.5rem; }
.confusion td:last-child { padding: 0.25rem 0.5rem; white-space: nowrap; }
.images { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); }
.images figure { margin: 0; } .images figcaption { font-weight: 400; font-size: 0.85rem; }
.images img { image-rendering: pixelated; object-fit: contain; display: block; }
code { font-family: ui-monospace, monospace; } .run { border-top: 3px solid var(--line); margin-top: 2.5rem; }
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
)";

constexpr std::size_t kMaxRunsWithRankCurves = 4;

// No resource is loaded and no script runs, even if markup got in.
constexpr char kPolicy[] =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'";

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
          element("title", Html(title_of(runs) + " – tandem")) +
          element("style", Html::literal(kStyle)));
}

// The sections of one run; under its name if there are several.
Html sections_of(const RunView& run, std::size_t runs) {
  Html sections = rank_section(run, runs) + system_section(run) + answers_section(run, runs) +
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
      run.record.faults.push_back(path + ": of its " + std::to_string(size) +
                                  " bytes only the last " + std::to_string(most_bytes) +
                                  " were read before the run ended; `tandem report` of the folder "
                                  "shows all");
    }
    run.lines = metrics::read_metric_lines(path, {most_bytes});
    left -= std::min(left, size);
  }
  const std::uint64_t of_ranks = bytes_of_ranks(run.record);
  if (of_ranks > left) {
    run.ranks.left_out_bytes = static_cast<double>(of_ranks);
    return;
  }
  const double last_step = std::max(1.0, run.lines.last_step());
  run.ranks = read_ranks(run.record, {0, last_step, columns_for(runs)});
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
  constexpr std::size_t kCurvesOfRun = 10;
  constexpr std::size_t kCurvesOfRanks = kMaxRankMetrics * kMaxRankCurves;
  const std::size_t of_run = kCurvesOfRun + (runs <= kMaxRunsWithRankCurves ? kCurvesOfRanks : 0);
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
  Html body =
      element("header", element("h1", Html(title_of(runs))) +
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
