// What: the page that shows one run, or several side by side: one HTML file that needs no network,
// no script and nothing beside it. Owns: values. Threads: any. Throws: what reading a run folder
// throws (metrics/run_record.hpp), and IoError, CannotCreateError where the page cannot be written.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tandem/core/json.hpp"
#include "tandem/metrics/metric_lines.hpp"
#include "tandem/metrics/run_record.hpp"
#include "tandem/report/rank_view.hpp"

namespace tandem::report {

// A run as the page needs it.
struct RunView {
  std::string name;  // of its curves and columns
  metrics::RunRecord record;
  metrics::MetricLines lines;
  RankView ranks;
};

// More would be told apart by nobody.
constexpr std::size_t kMaxRuns = 32;

// How many columns the drawings of a page get, so that it stays below 2 MB.
std::size_t columns_for(std::size_t runs);

// Reads what belongs to `records`; of more than four runs the ranks' means, but no curves of ranks.
// Of each run at most `most_bytes` of lines: the last ones of metrics.jsonl, and the ranks' files
// where all of them fit as well.
std::vector<RunView> read_runs(
    std::vector<metrics::RunRecord> records,
    std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

// `now`: Unix seconds, when the folders were read.
std::string render_page(const std::vector<RunView>& runs, double now);

// Reads the folders and writes the page whole.
void write_report(const std::vector<std::string>& folders, const std::string& output);
// Of a run that is about to end: `summary` is what its folder will hold. All ranks wait for it, so
// it reads no more than takes a second or two.
constexpr std::uint64_t kMaxBytesAtEnd = std::uint64_t{128} << 20;
void write_report_at_end(const std::string& folder, const Json& summary, const std::string& output,
                         std::uint64_t most_bytes = kMaxBytesAtEnd);

}  // namespace tandem::report
