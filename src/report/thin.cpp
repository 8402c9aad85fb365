#include "thin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/metrics/metric_lines.hpp"

namespace tandem::report {
namespace {

// Values from a file may be too large or too small for positions between them.
double tamed(double value) {
  constexpr double kLargest = 1e100;
  if (std::abs(value) > kLargest) return std::numeric_limits<double>::infinity();
  return std::abs(value) < 1 / kLargest ? 0 : value;
}

}  // namespace

Points points_of(const metrics::MetricLines& lines, const std::string& event,
                 const std::string& field, Axis axis) {
  Points points;
  for (const metrics::Sample& sample : lines.samples(event, field)) {
    const double x = tamed(axis == Axis::kStep ? sample.step : sample.epoch);
    if (std::isfinite(x)) points.push_back({x, tamed(sample.value)});
  }
  const auto earlier = [](const Point& one, const Point& other) { return one.x < other.x; };
  std::stable_sort(points.begin(), points.end(), earlier);
  return points;
}

std::size_t Columns::of(double x) const {
  const double share = (x - low) / (high - low);
  if (!(share > 0)) return 0;
  return std::min(count - 1,
                  static_cast<std::size_t>(std::min(share, 1.0) * static_cast<double>(count)));
}

Points thin(const Points& points, const Columns& columns) {
  return metrics::keep_extremes(
      points, [&](const Point& point) { return columns.of(point.x); },
      [](const Point& point) { return point.y; });
}

}  // namespace tandem::report
