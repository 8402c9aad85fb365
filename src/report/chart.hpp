// Curves over steps, epochs or time as an SVG drawing that stretches with the page, and its labels
// as text beside it, which does not stretch. Needs no script.
#pragma once

#include <string>
#include <vector>

#include "html.hpp"
#include "thin.hpp"

namespace tandem::report {

enum class Unit { kNumber, kAccuracy, kBytes, kSeconds, kDuration, kPercent };

struct Curve {
  std::string name;
  Points points;
  bool has_marks = false;  // few points, each worth seeing
  bool is_pale = false;    // lies behind the next curve, which is its smoothed version
};

// Something that happened at x.
struct Mark {
  double x = 0;
  std::string text;
};

struct Chart {
  std::string title;
  Unit unit = Unit::kNumber;
  std::string over = "steps";       // the unit of x
  bool is_from_zero = false;        // the lower end of y
  bool may_be_logarithmic = false;  // if the values span orders of magnitude
  bool has_ends = false;            // the last value of each curve is written beside it
  std::string note;                 // how to read it
  std::vector<Curve> curves;
  std::vector<Mark> marks;
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

// With three digits: "1.5 MB", "25.3 ms", "12,345", "0.0312"; an accuracy has four, "0.8160"; a
// duration is "12.3 s" or "1:40".
std::string format_value(double value, Unit unit, int digits = 3);

}  // namespace tandem::report
