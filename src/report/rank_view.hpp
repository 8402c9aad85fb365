// The ranks of a run from their files: means over the run, and curves reduced to a drawing's size.
// Reads one file at a time. A file that cannot be read is listed in `faults`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tandem/metrics/run_record.hpp"
#include "tandem/metrics/system_usage.hpp"
#include "thin.hpp"

namespace tandem::report {

// Seconds are means per step; values missing from a rank's file are NaN.
struct RankRow {
  int rank = 0;
  double images = 0;
  double images_per_second = 0;
  double step_seconds = 0;
  double data_seconds = 0;
  double compute_seconds = 0;
  double exchange_seconds = 0;  // the exchange itself: what the rank that comes last needs for it
  double wait_seconds = 0;      // for ranks that come later
  // Mean and maximum of each system metric.
  std::map<std::string, double> mean;
  std::map<std::string, double> highest;
};

// A metric over steps: a curve per rank or, for many ranks, their range.
struct RankCurves {
  std::map<std::string, std::vector<std::pair<std::string, Points>>> by_metric;  // name and points
  bool is_band = false;  // lowest, mean and highest of all ranks
};

struct RankView {
  std::vector<RankRow> rows;
  RankCurves curves;
  std::vector<std::string> faults;
  double left_out_bytes = 0;  // of files not read, for lack of time
};

// Up to this many ranks get curves of their own.
constexpr std::size_t kMaxRankCurves = 8;
// The metrics drawn: the four times of a step, and all system metrics.
constexpr std::size_t kMaxRankMetrics = 4 + metrics::kSystemValues;

// `columns`: those of a drawing over the run's steps.
RankView read_ranks(const metrics::RunRecord& run, const Columns& columns);

// The title of a known metric on the page; other metrics have the name of their field.
std::string metric_title(const std::string& field);
// The order of metrics on the page: the phases of a step, then the system's from CPU to GPU, then
// unknown ones by name.
bool stands_before(const std::string& field, const std::string& other);
// Whether `field` is a phase of a step.
bool is_step_time(const std::string& field);

}  // namespace tandem::report
