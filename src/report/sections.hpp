// A page of runs, and its sections in their order. A section is empty if the runs have no data
// for it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "chart.hpp"
#include "html.hpp"
#include "rank_view.hpp"
#include "tandem/metrics/metric_lines.hpp"
#include "tandem/metrics/run_record.hpp"
#include "timeline.hpp"

namespace tandem::report {

// The data of a run for the page.
struct RunView {     // NOLINT(bugprone-exception-escape): see RunRecord
  std::string name;  // of its curves and columns
  metrics::RunRecord record;
  metrics::MetricLines lines;
  Timeline timeline;
  RankView ranks;
};

using Runs = std::vector<RunView>;

// Curves of ranks, and the lines behind smoothed curves, are drawn for up to this many runs.
constexpr std::size_t kMaxRunsWithRankCurves = 4;
// The columns of the drawings of a page, so that it stays below 2 MB. Curves of ranks and smoothed
// curves have half of them.
std::size_t columns_for(std::size_t runs);

// Reads the data of `records`; for more than four runs without the curves of ranks. At most
// `most_bytes` of lines per run: the last ones of metrics.jsonl, and the ranks' files if all of
// them fit as well.
Runs read_runs(std::vector<metrics::RunRecord> records,
               std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

// `now`: Unix seconds, when the folders were read.
std::string render_page(const Runs& runs, double now);

Html page_style();
// The headline of a single run: accuracy, time, and the cause if it was slow.
Html headline_section(const RunView& run);
// Sections of all runs, one column each.
Html summary_section(const Runs& runs);
Html differences_section(const Runs& runs);
// Reasons why the results of several runs are not comparable; empty if there is none.
Html warn_of_unlike(const Runs& runs);
Html curve_section(const Runs& runs);

// Sections of one run; `runs`: the number of runs on the page, which share its size.
Html rank_section(const RunView& run, std::size_t runs);
Html system_section(const RunView& run);
Html answers_section(const RunView& run, std::size_t runs);
Html notes_section(const RunView& run, std::size_t runs);
Html options_section(const RunView& run);

// <section><h2>title</h2>content</section>; empty without content.
Html section(const std::string& title, const Html& content);
// A number as a cell; a dash for NaN.
Html value_cell(double value, Unit unit);

// A dash for an empty text.
Html dash_or(const std::string& text);
// "2026-03-14 09:15:00 UTC"; a dash for other values.
std::string format_time(double unix_seconds);

constexpr char kDash[] = "–";
constexpr std::size_t kMaxOptions = 200;  // of a run, that the page shows

// The head of a table with a column for each run.
std::vector<Html> names_of(const Runs& runs, const std::string& first);
// "8 ranks on 2 hosts", "synthetic, digest 0123…"; empty if the manifest lacks it.
std::string describe_ranks(const RunView& run);
std::string describe_data(const RunView& run);
// "rank 1 on n1: +12 ms a step (30 %) in compute; the others wait for it", or that no rank stands
// out; empty with fewer than two ranks.
std::string describe_slowest_rank(const RunView& run);
// "the host is busy: ranks had 0.22 of a core each", or a text about a CPU limit. Empty if there is
// neither, or no data.
std::string describe_busy_host(const RunView& run);
// "completed", colored; "unfinished" with an explanation.
Html state_of(const RunView& run);
// A field of the summary; without a summary the last one in the lines of `event`. NaN if absent.
double result_of(const RunView& run, const std::string& field, const std::string& event,
                 const std::string& in_lines = "");
double steps_of(const RunView& run);
double epochs_of(const RunView& run);
// Null if there is none.
const metrics::Sample* best_evaluation(const RunView& run, const std::string& field);
// A rank's "host" or "device" in the manifest.
std::string rank_text(const RunView& run, int rank, const char* field);
// The unit of a metric of the ranks, as its name ends.
Unit unit_of(const std::string& field);
// The charts of the metrics of the ranks that are step times, or of those that are not.
Html draw_metrics(const RankView& ranks, bool is_of_step);

}  // namespace tandem::report
