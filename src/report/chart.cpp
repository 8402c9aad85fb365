#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/core/median.hpp"
#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

// Units of the drawing. It is stretched to whatever place the page has; lines keep their width.
constexpr double kWidth = 2000;
constexpr double kHeight = 800;
constexpr double kMuch = 100;  // between the highest and the middle value, for a logarithmic y
constexpr std::size_t kColors = 8;
constexpr int kTickDigits = 6;  // ticks are round numbers, but may be close together

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
  const double median = median_of(std::move(values));
  return extent.high_y / median > kMuch || median / extent.low_y > kMuch;
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
  return element("g", {{"class", color_class(number) + (curve.is_pale ? " pale" : "")}},
                 element("title", Html(shortened(curve.name, 80))) + html);
}

Html draw_marks(const std::vector<Mark>& marks, const Place& place) {
  std::string lines;
  for (const Mark& mark : marks) {
    lines +=
        "M" + format_fixed(kWidth * place.x.share(mark.x), 0) + ",0v" + format_fixed(kHeight, 0);
  }
  return lines.empty() ? Html() : element("path", {{"class", "mark"}, {"d", lines}});
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

Html label(const std::string& side, double share, const std::string& text,
           const std::string& style_class = "") {
  Attributes attributes{{"style", side + ":" + format_fixed(100 * share, 2) + "%"}};
  if (!style_class.empty()) attributes.insert(attributes.begin(), {"class", style_class});
  return element("span", attributes, Html(text));
}

Html label_axis(const Scale& scale, const std::string& side, Unit unit) {
  if (unit == Unit::kAccuracy) unit = Unit::kNumber;  // its marks are round
  Html labels;
  std::string before;
  for (const double mark : scale.marks) {
    const std::string text = format_value(mark, unit, kTickDigits);
    if (std::exchange(before, text) == text) continue;  // parts of a byte
    labels += label(side, scale.share(mark), text);
  }
  return labels;
}

Html label_marks(const std::vector<Mark>& marks, const Place& place) {
  Html labels;
  for (const Mark& mark : marks) {
    labels += label("left", place.x.share(mark.x), shortened(mark.text, 40));
  }
  return labels.empty() ? labels : element("div", {{"class", "over"}}, labels);
}

// A pale curve has the color of the one that it lies behind.
std::vector<std::size_t> colors_of(const std::vector<Curve>& curves) {
  std::vector<std::size_t> colors;
  std::size_t next = 0;
  for (const Curve& curve : curves) colors.push_back(curve.is_pale ? next : next++);
  return colors;
}

// The last value of each curve at its height. Texts that would overlap move apart.
Html label_ends(const Chart& chart, const Place& place) {
  constexpr double kRoom = 0.075;  // of a line of text
  const std::vector<std::size_t> colors = colors_of(chart.curves);
  struct End {
    double share;
    double value;
    std::size_t color;
  };
  std::vector<End> ends;
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const Points& points = chart.curves[i].points;
    const auto last = std::find_if(points.rbegin(), points.rend(),
                                   [](const Point& point) { return std::isfinite(point.y); });
    if (chart.curves[i].is_pale || last == points.rend()) continue;
    ends.push_back({place.y.share(last->y), last->y, colors[i]});
  }
  if (static_cast<double>(ends.size()) * kRoom > 1) return {};
  std::sort(ends.begin(), ends.end(),
            [](const End& one, const End& other) { return one.share < other.share; });
  double lowest = 0;
  for (End& end : ends) {
    end.share = std::max(end.share, lowest);
    lowest = end.share + kRoom;
  }
  double highest = 1;
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    end->share = std::min(end->share, highest);
    highest = end->share - kRoom;
  }
  Html labels;
  for (const End& end : ends) {
    labels +=
        label("bottom", end.share, format_value(end.value, chart.unit), color_class(end.color));
  }
  return element("div", {{"class", "ends"}}, labels);
}

Html name_curves(const std::vector<Curve>& curves) {
  const std::vector<std::size_t> colors = colors_of(curves);
  Html names;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].is_pale) continue;
    names +=
        element("li", {{"class", color_class(colors[i])}}, Html(shortened(curves[i].name, 80)));
  }
  return element("ul", {{"class", "key"}}, names);
}

// For screen readers.
std::string describe(const Chart& chart, const Extent& extent) {
  return chart.title + ": from " + format_value(extent.low_y, chart.unit) + " to " +
         format_value(extent.high_y, chart.unit) + " over " + chart.over + " " +
         format_value(extent.low_x, Unit::kNumber) + " to " +
         format_value(extent.high_x, Unit::kNumber);
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
  std::vector<Mark> marks;
  for (const Mark& mark : chart.marks) {
    if (mark.x > extent.low_x && mark.x < extent.high_x) marks.push_back(mark);
  }
  Html drawing = draw_grid(place) + draw_marks(marks, place);
  const std::vector<std::size_t> colors = colors_of(chart.curves);
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    drawing += draw_curve(chart.curves[i], place, colors[i]);
  }
  const std::string view_box = "0 0 " + format_fixed(kWidth, 0) + " " + format_fixed(kHeight, 0);
  const Html svg = element("svg",
                           {{"viewBox", view_box},
                            {"preserveAspectRatio", "none"},
                            {"role", "img"},
                            {"aria-label", describe(chart, extent)}},
                           drawing);
  const std::string over = "over " + chart.over + (is_logarithmic ? ", logarithmic" : "");
  const Html caption =
      element("figcaption", Html(chart.title) + Html(" ") + element("small", Html(over)));
  const Html note = chart.note.empty() ? Html() : element("p", element("small", Html(chart.note)));
  const Html plot = element("div", {{"class", "y"}}, label_axis(place.y, "bottom", chart.unit)) +
                    svg + label_marks(marks, place) +
                    (chart.has_ends ? label_ends(chart, place) : Html()) +
                    element("div", {{"class", "x"}}, label_axis(place.x, "left", Unit::kNumber));
  return element("figure", caption + element("div", {{"class", "plot"}}, plot) +
                               name_curves(chart.curves) + note);
}

}  // namespace tandem::report
