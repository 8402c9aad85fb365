#include "thin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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
  std::vector<double> sorted = lengths;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  std::vector<metrics::Sample> whole;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (lengths[i] >= *middle / 2) whole.push_back(samples[i]);
  }
  return whole;
}

Points smooth(const Points& points, std::size_t window) {
  std::vector<double> sums{0};
  std::vector<double> counts{0};
  for (const Point& point : points) {
    const bool is_gap = !std::isfinite(point.y);
    sums.push_back(sums.back() + (is_gap ? 0 : point.y));
    counts.push_back(counts.back() + (is_gap ? 0 : 1));
  }
  Points smoothed;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t begin = i - std::min(i, window / 2);
    const std::size_t end = std::min(points.size(), i + window / 2 + 1);
    const double mean = (sums[end] - sums[begin]) / (counts[end] - counts[begin]);
    smoothed.push_back({points[i].x, std::isfinite(points[i].y) ? mean : points[i].y});
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
