#include "band.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::report {

void Band::add(const Points& points) {
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) continue;
    Column& column = of_column_[columns_.of(point.x)];
    if (column.count == 0) column.low = column.high = point.y;
    column.low = std::min(column.low, point.y);
    column.high = std::max(column.high, point.y);
    column.sum += point.y;
    ++column.count;
  }
}

std::vector<std::pair<std::string, Points>> Band::curves() const {
  Points lowest;
  Points mean;
  Points highest;
  const double width = (columns_.high - columns_.low) / static_cast<double>(columns_.count);
  for (std::size_t i = 0; i < of_column_.size(); ++i) {
    const Column& column = of_column_[i];
    if (column.count == 0) continue;
    const double x = columns_.low + (static_cast<double>(i) + 0.5) * width;
    lowest.push_back({x, column.low});
    mean.push_back({x, column.sum / column.count});
    highest.push_back({x, column.high});
  }
  return {{"lowest of all ranks", lowest},
          {"mean of all ranks", mean},
          {"highest of all ranks", highest}};
}

}  // namespace tandem::report
