// Writes the page of one run, or of several side by side: one HTML file without network access,
// script or other files. Throws what reading a run folder throws (metrics/run_record.hpp), and
// IoError or CannotCreateError if the page cannot be written.
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

// The data of a run for the page.
struct RunView {
  std::string name;  // of its curves and columns
  metrics::RunRecord record;
  metrics::MetricLines lines;
  RankView ranks;
};

// More cannot be distinguished.
constexpr std::size_t kMaxRuns = 32;

// The columns of the drawings of a page, so that it stays below 2 MB.
std::size_t columns_for(std::size_t runs);

// Reads the data of `records`; for more than four runs without the curves of ranks. At most
// `most_bytes` of lines per run: the last ones of metrics.jsonl, and the ranks' files if all of
// them fit as well.
std::vector<RunView> read_runs(
    std::vector<metrics::RunRecord> records,
    std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

// `now`: Unix seconds, when the folders were read.
std::string render_page(const std::vector<RunView>& runs, double now);

// Reads the folders and writes the page whole.
void write_report(const std::vector<std::string>& folders, const std::string& output);
// Writes the page of a run that is about to end; `summary` is its summary. All ranks wait for it,
// so it reads no more than a second or two permit.
constexpr std::uint64_t kMaxBytesAtEnd = std::uint64_t{128} << 20;
void write_report_at_end(const std::string& folder, const Json& summary, const std::string& output,
                         std::uint64_t most_bytes = kMaxBytesAtEnd);

}  // namespace tandem::report
