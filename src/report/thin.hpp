// Reduces a curve to the points that its drawing can show, without losing peaks.
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

enum class Axis { kStep, kEpoch };

// A field of an event over steps or epochs, in order. Samples without a position are skipped.
Points points_of(const metrics::MetricLines& lines, const std::string& event,
                 const std::string& field, Axis axis);

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
