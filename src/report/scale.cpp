// Axes, and the text of numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "chart.hpp"
#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

constexpr double kMaxTicks = 6;
// The number of steps for a range. Rounding makes a step up to 2.5 times as long. A range that does
// not end at ticks must still contain two.
constexpr double kSteps = 4;
constexpr double kStepsWithin = 5;

// 1, 2 or 5 times a power of ten, and at least `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

Scale logarithmic_scale(double low, double high) {
  Scale scale;
  scale.is_logarithmic = true;
  const double first = std::floor(std::log10(low));
  const double decades = std::max(1.0, std::ceil(std::log10(high)) - first);
  const double step = std::ceil(decades / (kMaxTicks - 1));
  for (double power = first; power < first + decades + step; power += step) {
    scale.marks.push_back(std::pow(10, power));
  }
  scale.low = scale.marks.front();
  scale.high = scale.marks.back();
  return scale;
}

// A value that rounds to 1,000 or more is whole, because %g would write it as a power of ten.
std::string significant(double value, int digits) {
  const double size = std::abs(value);
  if (size >= 1000 - 0.5 * std::pow(10, 3 - digits) && size < 1e15) {
    return format_count(std::llround(value));
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

}  // namespace

Scale make_scale(double low, double high, bool reaches_marks, bool is_logarithmic) {
  if (is_logarithmic) return logarithmic_scale(low, high);
  // Values that are equal, or nearly so for a double, get room around them.
  const double size = std::max(std::abs(low), std::abs(high));
  if (!(high - low > 1e-9 * size)) {
    const double room = size > 0 ? 0.1 * size : 1;
    low -= reaches_marks && low != 0 ? room : 0;  // the axis of values >= 0 ends at 0
    high += room;
  }
  Scale scale;
  const double step = round_step((high - low) / (reaches_marks ? kSteps : kStepsWithin));
  scale.low = reaches_marks ? std::floor(low / step + 1e-9) * step : low;
  scale.high = reaches_marks ? std::ceil(high / step - 1e-9) * step : high;
  const double first = std::ceil(scale.low / step - 1e-9) + 0.0;  // not -0
  for (double count = first; count * step <= scale.high + 1e-9 * step; ++count) {
    scale.marks.push_back(count * step);
  }
  return scale;
}

double Scale::share(double value) const {
  if (is_logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

std::string format_value(double value, Unit unit, int digits) {
  if (!std::isfinite(value)) return "not finite";
  switch (unit) {
    case Unit::kAccuracy:
      if (std::abs(value) <= 1) return format_fixed(value, 4);
      break;
    case Unit::kBytes:
      return value >= 0 && value < 1e18 ? format_bytes(static_cast<std::uint64_t>(value))
                                        : significant(value, digits);
    case Unit::kSeconds:
      if (value == 0 || std::abs(value) >= 1) return significant(value, digits) + " s";
      return std::abs(value) >= 1e-3 ? significant(value * 1e3, digits) + " ms"
                                     : significant(value * 1e6, digits) + " µs";
    case Unit::kDuration:
      return value >= 0 && value < 100 ? format_fixed(value, 1) + " s" : format_duration(value);
    case Unit::kPercent:
      return significant(value, digits) + " %";
    case Unit::kNumber:
      break;
  }
  return significant(value, digits);
}

}  // namespace tandem::report
