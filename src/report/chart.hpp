// Curves over steps or epochs as an SVG drawing that stretches with the page, and its labels as
// text beside it, which does not stretch. Needs no script.
#pragma once

#include <string>
#include <vector>

#include "html.hpp"
#include "thin.hpp"

namespace tandem::report {

enum class Unit { kNumber, kAccuracy, kBytes, kSeconds, kPercent };

struct Curve {
  std::string name;
  Points points;
  bool has_marks = false;  // few points, each worth seeing
};

struct Chart {
  std::string title;
  Unit unit = Unit::kNumber;
  Axis axis = Axis::kStep;
  bool is_from_zero = false;        // the lower end of y
  bool may_be_logarithmic = false;  // if the values span orders of magnitude
  std::vector<Curve> curves;
};

// Empty if no curve has a finite point. Draws all points; thin() them before.
Html draw(const Chart& chart);

// The positions of an axis's ticks: at least two, equally spaced, round numbers.
struct Scale {
  double low = 0;
  double high = 1;
  bool is_logarithmic = false;
  std::vector<double> marks;  // of a logarithmic scale powers of ten

  double share(double value) const;  // of the way from low to high
};
// Wide enough for [low, high], which need not differ. `reaches_marks`: begins and ends at one.
Scale make_scale(double low, double high, bool reaches_marks, bool is_logarithmic = false);

// "1.5 MB", "25 ms", "12,345", "0.0312"; an accuracy with four digits, "0.8160"
std::string format_value(double value, Unit unit);

}  // namespace tandem::report
