// The sections of a page, in their order. A section is empty if the runs have no data for it.
#pragma once

#include <string>
#include <vector>

#include "chart.hpp"
#include "html.hpp"
#include "tandem/report/page.hpp"

namespace tandem::report {

using Runs = std::vector<RunView>;

// Sections of all runs, one column each.
Html summary_section(const Runs& runs);
Html differences_section(const Runs& runs);
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
// A rank's "host" or "device" in the manifest.
std::string rank_text(const RunView& run, int rank, const char* field);
// The unit of a metric of the ranks, as its name ends.
Unit unit_of(const std::string& field);
// The charts of the metrics of the ranks that are step times, or of those that are not.
Html draw_metrics(const RankView& ranks, bool is_of_step);

}  // namespace tandem::report
