#include "timeline.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "tandem/core/json.hpp"

namespace tandem::report {
namespace {

// The times of all lines with a number, in order.
std::vector<double> times_of(const metrics::MetricLines& lines) {
  std::vector<double> times;
  for (const auto& [event, of_event] : lines.events) {
    if (of_event.fields.empty()) continue;
    for (const metrics::Sample& sample : of_event.fields.begin()->second.samples()) {
      if (std::isfinite(sample.time)) times.push_back(sample.time);
    }
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

Timeline::Timeline(const Json& manifest, const metrics::MetricLines& lines) {
  const std::vector<double> times = times_of(lines);
  last_ = times.empty() ? std::numeric_limits<double>::quiet_NaN() : times.back();
  const Json& segments = member(manifest, "segments");
  for (const Json& segment : segments.is_array() ? segments : Json::array()) {
    const Start start{number_of(segment, "first_step"), number_of(segment, "started"), 0};
    if (std::isfinite(start.first_step) && std::isfinite(start.time)) starts_.push_back(start);
  }
  if (starts_.empty() && !times.empty()) starts_.push_back({0, times.front(), 0});
  std::sort(starts_.begin(), starts_.end(),
            [](const Start& one, const Start& other) { return one.time < other.time; });
  for (std::size_t i = 1; i < starts_.size(); ++i) {
    const Start& before = starts_[i - 1];
    const auto later = std::lower_bound(times.begin(), times.end(), starts_[i].time);
    const double stopped = later == times.begin() ? before.time : *std::prev(later);
    starts_[i].worked = before.worked + std::max(0.0, stopped - before.time);
  }
}

double Timeline::worked(double unix_seconds) const {
  if (starts_.empty()) return std::numeric_limits<double>::quiet_NaN();
  auto start = std::upper_bound(starts_.begin(), starts_.end(), unix_seconds,
                                [](double time, const Start& each) { return time < each.time; });
  if (start != starts_.begin()) --start;
  return start->worked + unix_seconds - start->time;
}

}  // namespace tandem::report
