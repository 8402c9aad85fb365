#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

// Units of the drawing. It is stretched to whatever place the page has; lines keep their width.
constexpr double kWidth = 2000;
constexpr double kHeight = 800;
constexpr double kMuch = 100;  // between the highest and the middle value, for a logarithmic y
constexpr std::size_t kColors = 8;

struct Extent {
  double low_x = 0, high_x = 0, low_y = 0, high_y = 0;
  bool is_empty = true;

  void include(const Point& point) {
    if (!std::isfinite(point.y)) return;
    if (std::exchange(is_empty, false)) {
      low_x = high_x = point.x;
      low_y = high_y = point.y;
    }
    low_x = std::min(low_x, point.x);
    high_x = std::max(high_x, point.x);
    low_y = std::min(low_y, point.y);
    high_y = std::max(high_y, point.y);
  }
};

// A diverged loss, or one that falls over decades: most of it would lie on the lowest line.
bool spans_decades(const std::vector<Curve>& curves, const Extent& extent) {
  if (extent.low_y <= 0 || extent.high_y / extent.low_y < kMuch) return false;
  std::vector<double> values;
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) {
      if (std::isfinite(point.y)) values.push_back(point.y);
    }
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return extent.high_y / *middle > kMuch || *middle / extent.low_y > kMuch;
}

struct Place {
  Scale x;
  Scale y;

  std::string of(const Point& point) const {
    return format_fixed(kWidth * x.share(point.x), 0) + "," +
           format_fixed(kHeight * (1 - y.share(point.y)), 0);
  }
};

std::string color_class(std::size_t number) {
  return "c" + std::to_string(number % kColors) + (number >= kColors ? " again" : "");
}

// One line for each stretch without a gap, and a dot for each mark, a stretch of a single point
// included.
Html draw_curve(const Curve& curve, const Place& place, std::size_t number) {
  std::string line;
  std::string dots;
  std::size_t length = 0;  // of the stretch
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    if (!std::isfinite(curve.points[i].y)) {
      length = 0;
      continue;
    }
    const std::string at = place.of(curve.points[i]);
    line += (length++ == 0 ? "M" : " ") + at;
    const bool ends = i + 1 == curve.points.size() || !std::isfinite(curve.points[i + 1].y);
    if (curve.has_marks || (ends && length == 1)) dots += "M" + at + "h0";
  }
  Html html = element("path", {{"d", line}});
  if (!dots.empty()) html += element("path", {{"class", "dots"}, {"d", dots}});
  return element("g", {{"class", color_class(number)}},
                 element("title", Html(shortened(curve.name, 80))) + html);
}

Html draw_grid(const Place& place) {
  std::string lines;
  for (const double mark : place.y.marks) {
    lines += "M0," + format_fixed(kHeight * (1 - place.y.share(mark)), 0) + "h" +
             format_fixed(kWidth, 0);
  }
  for (const double mark : place.x.marks) {
    lines += "M" + format_fixed(kWidth * place.x.share(mark), 0) + ",0v" + format_fixed(kHeight, 0);
  }
  return element("path", {{"class", "grid"}, {"d", lines}});
}

Html label_axis(const Scale& scale, const std::string& side, Unit unit) {
  if (unit == Unit::kAccuracy) unit = Unit::kNumber;  // its marks are round
  Html labels;
  std::string before;
  for (const double mark : scale.marks) {
    const std::string text = format_value(mark, unit);
    if (std::exchange(before, text) == text) continue;  // parts of a byte
    labels +=
        element("span", {{"style", side + ":" + format_fixed(100 * scale.share(mark), 2) + "%"}},
                Html(text));
  }
  return labels;
}

Html name_curves(const std::vector<Curve>& curves) {
  Html names;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    names += element("li", {{"class", color_class(i)}}, Html(shortened(curves[i].name, 80)));
  }
  return element("ul", {{"class", "key"}}, names);
}

// For screen readers.
std::string describe(const Chart& chart, const Extent& extent) {
  return chart.title + ": from " + format_value(extent.low_y, chart.unit) + " to " +
         format_value(extent.high_y, chart.unit) + " over " +
         (chart.axis == Axis::kStep ? "steps " : "epochs ") +
         format_value(extent.low_x, Unit::kNumber) + " to " +
         format_value(extent.high_x, Unit::kNumber);
}

constexpr double kMaxTicks = 6;
// The number of steps for a range. A round step is up to 2.5 times as long; two ticks must lie
// within a range that does not end at ticks.
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

std::string significant(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

}  // namespace

Html draw(const Chart& chart) {
  Extent extent;
  for (const Curve& curve : chart.curves) {
    for (const Point& point : curve.points) extent.include(point);
  }
  if (extent.is_empty) return {};
  const bool is_logarithmic = chart.may_be_logarithmic && spans_decades(chart.curves, extent);
  const double low = chart.is_from_zero ? std::min(0.0, extent.low_y) : extent.low_y;
  const Place place{
      make_scale(extent.low_x, extent.high_x, false),
      make_scale(is_logarithmic ? extent.low_y : low, extent.high_y, true, is_logarithmic)};
  Html drawing = draw_grid(place);
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    drawing += draw_curve(chart.curves[i], place, i);
  }
  const std::string view_box = "0 0 " + format_fixed(kWidth, 0) + " " + format_fixed(kHeight, 0);
  const Html svg = element("svg",
                           {{"viewBox", view_box},
                            {"preserveAspectRatio", "none"},
                            {"role", "img"},
                            {"aria-label", describe(chart, extent)}},
                           drawing);
  const std::string over = chart.axis == Axis::kStep ? "over steps" : "over epochs";
  const Html caption = element(
      "figcaption", Html(chart.title) + Html(" ") +
                        element("small", Html(over + (is_logarithmic ? ", logarithmic" : ""))));
  const Html plot = element("div", {{"class", "y"}}, label_axis(place.y, "bottom", chart.unit)) +
                    svg +
                    element("div", {{"class", "x"}}, label_axis(place.x, "left", Unit::kNumber));
  return element("figure",
                 caption + element("div", {{"class", "plot"}}, plot) + name_curves(chart.curves));
}

Scale make_scale(double low, double high, bool reaches_marks, bool is_logarithmic) {
  if (is_logarithmic) return logarithmic_scale(low, high);
  // Values that are equal, or nearly so for a double, get room around them.
  const double size = std::max(std::abs(low), std::abs(high));
  if (!(high - low > 1e-9 * size)) {
    const double room = size > 0 ? 0.1 * size : 1;
    low -= reaches_marks && low != 0 ? room : 0;  // what is never below 0 is not drawn so
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

std::string format_value(double value, Unit unit) {
  if (!std::isfinite(value)) return "not finite";
  const bool is_whole = std::abs(value) >= 1000 && std::abs(value) < 1e15;
  switch (unit) {
    case Unit::kAccuracy:
      if (std::abs(value) <= 1) return format_fixed(value, 4);
      break;
    case Unit::kBytes:
      return value >= 0 && value < 1e18 ? format_bytes(static_cast<std::uint64_t>(value))
                                        : significant(value);
    case Unit::kSeconds:
      if (value == 0 || std::abs(value) >= 1) return significant(value) + " s";
      return std::abs(value) >= 1e-3 ? significant(value * 1e3) + " ms"
                                     : significant(value * 1e6) + " µs";
    case Unit::kPercent:
      return significant(value) + " %";
    case Unit::kNumber:
      break;
  }
  return is_whole ? format_count(std::llround(value)) : significant(value);
}

}  // namespace tandem::report
