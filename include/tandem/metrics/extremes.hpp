// Reduces many points to few without losing their peaks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tandem::metrics {

// Keeps the lowest and the highest `value_of` of each group of neighbors, and the first and the
// last point of all, in order. A group without a finite value keeps its first point.
template <typename Point, typename GroupOf, typename ValueOf>
std::vector<Point> keep_extremes(const std::vector<Point>& points, GroupOf group_of,
                                 ValueOf value_of) {
  std::vector<Point> kept;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    const auto group = group_of(points[begin]);
    std::size_t lowest = points.size();
    std::size_t highest = points.size();
    for (end = begin; end < points.size() && group_of(points[end]) == group; ++end) {
      const double value = value_of(points[end]);
      if (!std::isfinite(value)) continue;
      if (lowest == points.size() || value < value_of(points[lowest])) lowest = end;
      if (highest == points.size() || value > value_of(points[highest])) highest = end;
    }
    if (lowest == points.size()) lowest = highest = begin;  // nothing but a gap
    std::vector<std::size_t> places{lowest, highest};
    if (begin == 0) places.push_back(0);
    if (end == points.size()) places.push_back(end - 1);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const std::size_t at : places) kept.push_back(points[at]);
  }
  return kept;
}

}  // namespace tandem::metrics
