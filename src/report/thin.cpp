#include "thin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tandem/core/median.hpp"
#include "tandem/metrics/metric_lines.hpp"

namespace tandem::report {
namespace {

// Values from a file may be too large or too small for positions between them.
double tamed(double value) {
  constexpr double kLargest = 1e100;
  if (std::abs(value) > kLargest) return std::numeric_limits<double>::infinity();
  return std::abs(value) < 1 / kLargest ? 0 : value;
}

double position_of(const metrics::Sample& sample, Axis axis) {
  if (axis == Axis::kTime) return sample.time;
  return axis == Axis::kStep ? sample.step : sample.epoch;
}

}  // namespace

Points points_of(const std::vector<metrics::Sample>& samples, Axis axis) {
  Points points;
  for (const metrics::Sample& sample : samples) {
    const double x = tamed(position_of(sample, axis));
    if (std::isfinite(x)) points.push_back({x, tamed(sample.value)});
  }
  const auto earlier = [](const Point& one, const Point& other) { return one.x < other.x; };
  std::stable_sort(points.begin(), points.end(), earlier);
  return points;
}

std::vector<metrics::Sample> of_whole_windows(const std::vector<metrics::Sample>& samples) {
  std::vector<double> lengths;
  double before = 0;
  for (const metrics::Sample& sample : samples) {
    lengths.push_back(sample.step - std::exchange(before, sample.step));
  }
  if (lengths.empty()) return {};
  const double median = median_of(lengths);
  std::vector<metrics::Sample> whole;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (lengths[i] >= median / 2) whole.push_back(samples[i]);
  }
  return whole;
}

// Each window is summed anew: in running sums a spike would drown all values after it.
Points smooth(const Points& points, std::size_t window) {
  Points smoothed = points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i].y)) continue;
    const std::size_t begin = i - std::min(i, window / 2);
    const std::size_t end = std::min(points.size(), i + window / 2 + 1);
    double sum = 0;
    double count = 0;
    for (std::size_t j = begin; j < end; ++j) {
      if (!std::isfinite(points[j].y)) continue;
      sum += points[j].y;
      ++count;
    }
    smoothed[i].y = sum / count;
  }
  return smoothed;
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
