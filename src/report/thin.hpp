// Makes curves of samples, smooths them, and reduces them to the points that a drawing can show,
// without losing peaks.
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/metrics/metric_lines.hpp"

namespace tandem::report {

struct Point {
  double x;
  double y;  // not finite: the curve has a gap here
};
using Points = std::vector<Point>;

enum class Axis { kStep, kEpoch, kTime };  // Unix seconds

// Samples in order. Those without a position are skipped.
Points points_of(const std::vector<metrics::Sample>& samples, Axis axis);

// Leaves out samples over less than half of the usual number of steps: the rate of a few steps
// before a stop is noise.
std::vector<metrics::Sample> of_whole_windows(const std::vector<metrics::Sample>& samples);

// A running mean over `window` points, fewer at the ends. Gaps stay.
Points smooth(const Points& points, std::size_t window);

// The columns of a drawing, equal parts of [low, high].
struct Columns {
  double low = 0;
  double high = 1;
  std::size_t count = 600;

  std::size_t of(double x) const;  // the first and the last where x lies outside
};

// Keeps the lowest and the highest point of each column, and the first and the last point of all,
// in order. A column of gaps only keeps one. `points` are sorted by x.
Points thin(const Points& points, const Columns& columns);

}  // namespace tandem::report
