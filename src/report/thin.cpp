#include "tandem/report/thin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::report {
namespace {

// What a file from outside says may be too large or too small to place a mark between.
double tamed(double value) {
  constexpr double kLargest = 1e100;
  if (std::abs(value) > kLargest) return std::numeric_limits<double>::infinity();
  return std::abs(value) < 1 / kLargest ? 0 : value;
}

}  // namespace

Points points_of(const metrics::MetricLines& lines, const std::string& event,
                 const std::string& field, Axis axis) {
  Points points;
  const auto found = lines.events.find(event);
  if (found == lines.events.end()) return points;
  const auto& places = axis == Axis::kStep ? found->second.step : found->second.epoch;
  for (const metrics::Sample& sample : lines.samples(event, field)) {
    const double x = tamed(places[sample.line]);
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
  Points thinned;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    const std::size_t column = columns.of(points[begin].x);
    std::vector<std::size_t> kept;
    std::size_t lowest = points.size();
    std::size_t highest = points.size();
    for (end = begin; end < points.size() && columns.of(points[end].x) == column; ++end) {
      if (!std::isfinite(points[end].y)) continue;
      if (lowest == points.size() || points[end].y < points[lowest].y) lowest = end;
      if (highest == points.size() || points[end].y > points[highest].y) highest = end;
    }
    if (lowest == points.size()) lowest = highest = begin;  // nothing but a gap
    kept = {lowest, highest};
    if (begin == 0) kept.push_back(0);
    if (end == points.size()) kept.push_back(end - 1);
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const std::size_t at : kept) thinned.push_back(points[at]);
  }
  return thinned;
}

}  // namespace tandem::report
