// What: a curve with no more points than its drawing can show, and none of its peaks lost.
// Owns: values. Threads: any. Throws: nothing.
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

// A field of an event over steps or epochs, in their order. Samples without a place are left out.
Points points_of(const metrics::MetricLines& lines, const std::string& event,
                 const std::string& field, Axis axis);

// The columns of a drawing, equal parts of [low, high].
struct Columns {
  double low = 0;
  double high = 1;
  std::size_t count = 600;

  std::size_t of(double x) const;  // the first and the last where x lies outside
};

// Of the points of each column the lowest and the highest, and the first and the last of all; in
// order, and no others. A column that holds only gaps keeps one. `points` are in order of x.
Points thin(const Points& points, const Columns& columns);

}  // namespace tandem::report
