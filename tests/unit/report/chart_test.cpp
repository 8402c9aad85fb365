#include "chart.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "tandem/core/random.hpp"

namespace tandem::report {
namespace {

Points straight_line(double from, double to, int count = 11) {
  Points points;
  for (int i = 0; i < count; ++i) {
    points.push_back({static_cast<double>(i), from + (to - from) * i / (count - 1)});
  }
  return points;
}

bool contains(const Html& html, const std::string& text) {
  return html.markup().find(text) != std::string::npos;
}

std::size_t count_of(const Html& html, const std::string& pattern) {
  const std::regex expression(pattern);
  const std::string& markup = html.markup();
  return static_cast<std::size_t>(std::distance(
      std::sregex_iterator(markup.begin(), markup.end(), expression), std::sregex_iterator()));
}

void expect_good(const Scale& scale, double low, double high) {
  ASSERT_GE(scale.marks.size(), 2U) << low << " " << high;
  EXPECT_LE(scale.marks.size(), 8U) << low << " " << high;
  EXPECT_LE(scale.low, low + 1e-9 * std::abs(low));
  EXPECT_GE(scale.high, high - 1e-9 * std::abs(high));
  for (const double mark : scale.marks) {
    EXPECT_TRUE(std::isfinite(mark));
    EXPECT_GE(scale.share(mark), -1e-6) << low << " " << high;
    EXPECT_LE(scale.share(mark), 1 + 1e-6) << low << " " << high;
  }
}

TEST(Scale, HasRoundMarksAroundAnyRange) {
  const Scale simple = make_scale(0, 93, true);
  EXPECT_EQ(simple.marks, (std::vector<double>{0, 50, 100}));
  EXPECT_EQ(format_value(simple.marks.front(), Unit::kNumber), "0");
  CounterRandom random{3, 1};
  for (int i = 0; i < 2000; ++i) {
    const double power = std::pow(10, static_cast<double>(random.below(180)) - 90);
    const double low = (static_cast<double>(random.below(2000)) - 1000) * power;
    const double high = low + static_cast<double>(random.below(1000)) * power;
    expect_good(make_scale(low, high, true), low, high);
    expect_good(make_scale(low, high, false), low, high);
    if (low > 0) expect_good(make_scale(low, high, true, true), low, high);
  }
}

TEST(Chart, DrawsALineFromCornerToCorner) {
  Chart chart;
  chart.title = "Loss";
  chart.curves = {{"one", straight_line(0, 10), false}};
  const Html html = draw(chart);
  EXPECT_TRUE(contains(html, "d=\"M0,800 200,720 400,640")) << html.markup();
  EXPECT_TRUE(contains(html, "2000,0\"")) << html.markup();
  EXPECT_TRUE(contains(html, "<title>one</title>"));
  EXPECT_TRUE(contains(html, "<li class=\"c0\">one</li>"));
  EXPECT_TRUE(contains(html, "Loss: from 0 to 10 over steps 0 to 10"));
}

TEST(Chart, WritesTheLastValueOfEachCurveBesideIt) {
  Chart chart;
  chart.has_ends = true;
  chart.unit = Unit::kAccuracy;
  chart.curves = {{"one", straight_line(0, 0.812)}, {"other", straight_line(1, 0.811)}};
  EXPECT_TRUE(contains(draw(chart), "<span class=\"c1\" style=\"bottom:81.10%\">0.8110</span>"));
  EXPECT_TRUE(contains(draw(chart), "<span class=\"c0\" style=\"bottom:88.60%\">0.8120</span>"))
      << "moved, so that the texts do not lie on each other: " << draw(chart).markup();
  chart.curves.front().points.back().y = NAN;
  EXPECT_TRUE(contains(draw(chart), ">0.7308</span>")) << "the last that is finite";
}

TEST(Chart, DrawsACurveBehindItsMean) {
  Chart chart;
  chart.has_ends = true;
  chart.curves = {
      {"raw", straight_line(0, 1)}, {"mean", straight_line(0, 2)}, {"other", straight_line(0, 3)}};
  chart.curves.front().is_pale = true;
  const Html html = draw(chart);
  EXPECT_TRUE(contains(html, "<g class=\"c0 pale\"><title>raw</title>"));
  EXPECT_TRUE(contains(html, "<g class=\"c0\"><title>mean</title>"));
  EXPECT_TRUE(contains(html, "<li class=\"c0\">mean</li><li class=\"c1\">other</li>"));
  EXPECT_FALSE(contains(html, ">raw</li>"));
  EXPECT_EQ(count_of(html, "style=\"bottom:[0-9.]+%\">[123]<"), 2U + 3U) << "two and three marks";
}

TEST(Chart, MarksWhatHappened) {
  Chart chart;
  chart.curves = {{"one", straight_line(0, 10)}};
  chart.marks = {{5, "resumed"}, {50, "later"}, {NAN, "nowhere"}};
  const Html html = draw(chart);
  EXPECT_TRUE(contains(html, "<path class=\"mark\" d=\"M1000,0v800\">"));
  EXPECT_TRUE(contains(html, "<span style=\"left:50.00%\">resumed</span>"));
  EXPECT_FALSE(contains(html, "later"));
  EXPECT_FALSE(contains(html, "nowhere"));
}

TEST(Chart, LeavesAGapWhereAValueIsNotFinite) {
  Chart chart;
  chart.curves = {{"one", {{0, 0}, {1, 5}, {2, NAN}, {3, INFINITY}, {4, 10}}, false}};
  const Html html = draw(chart);
  EXPECT_TRUE(contains(html, "d=\"M0,800 500,400M2000,0\"")) << html.markup();
  EXPECT_TRUE(contains(html, "class=\"dots\" d=\"M2000,0h0\"")) << "a single point is seen";
  EXPECT_EQ(count_of(html, "nan|inf"), 0U);
}

TEST(Chart, OfNothingIsNothing) {
  Chart chart;
  EXPECT_TRUE(draw(chart).empty());
  chart.curves = {{"one", {{0, NAN}}, false}};
  EXPECT_TRUE(draw(chart).empty());
}

TEST(Chart, OfOnePointOrOneValueHasRoom) {
  Chart chart;
  for (const double value : {0.0, 5.0, -3.0, 1e99}) {
    chart.curves = {{"one", {{7, value}}, false}};
    EXPECT_EQ(count_of(draw(chart), "class=\"dots\""), 1U) << value;
    chart.curves = {{"one", {{7, value}, {8, value}}, false}};
    EXPECT_EQ(count_of(draw(chart), "nan|inf|--"), 0U) << value;
  }
}

TEST(Chart, IsLogarithmicOnlyWhereALinearOneHidesMost) {
  Chart chart;
  chart.may_be_logarithmic = true;
  chart.curves = {{"one", straight_line(0.5, 2.5), false}};
  EXPECT_FALSE(contains(draw(chart), "logarithmic"));
  chart.curves.front().points.push_back({11, 1e6});
  EXPECT_TRUE(contains(draw(chart), "logarithmic"));
  chart.curves.front().points.push_back({12, -1});
  EXPECT_FALSE(contains(draw(chart), "logarithmic")) << "of a negative value there is no logarithm";
}

TEST(Chart, MarksAnAxisWithNumbersThatDiffer) {
  Chart chart;
  chart.unit = Unit::kBytes;
  chart.curves = {{"nothing is read", straight_line(0, 0), false}};
  EXPECT_EQ(count_of(draw(chart), ">0 B<"), 1U);
  chart.unit = Unit::kAccuracy;
  chart.curves = {{"one", straight_line(0, 0.8), false}};
  EXPECT_EQ(count_of(draw(chart), ">0.2<"), 1U) << "round ones";
  EXPECT_EQ(count_of(draw(chart), "from 0.0000 to 0.8000"), 1U);
}

TEST(Chart, EscapesItsNames) {
  Chart chart;
  chart.title = "<script>\x1b";
  chart.curves = {{"</title><script>\x1b", straight_line(0, 1), false}};
  const std::string markup = draw(chart).markup();
  EXPECT_EQ(markup.find("<script"), std::string::npos);
  EXPECT_EQ(markup.find('\x1b'), std::string::npos);
}

TEST(FormatValue, IsShortAndHasItsUnit) {
  EXPECT_EQ(format_value(0.05, Unit::kNumber), "0.05");
  EXPECT_EQ(format_value(123456.7, Unit::kNumber), "123,457");
  EXPECT_EQ(format_value(0.816, Unit::kAccuracy), "0.8160");
  EXPECT_EQ(format_value(1.5e9, Unit::kBytes), "1.5 GB");
  EXPECT_EQ(format_value(0.0215, Unit::kSeconds), "21.5 ms");
  EXPECT_EQ(format_value(0.0215678, Unit::kSeconds), "21.6 ms");
  EXPECT_EQ(format_value(7.0554, Unit::kNumber), "7.06");
  EXPECT_EQ(format_value(0.812345, Unit::kNumber, 6), "0.812345") << "for an axis";
  EXPECT_EQ(format_value(999.7, Unit::kNumber), "1,000");
  EXPECT_EQ(format_value(999.7, Unit::kNumber, 4), "999.7");
  EXPECT_EQ(format_value(1234, Unit::kPercent), "1,234 %");
  EXPECT_EQ(format_value(1234.5, Unit::kSeconds), "1,235 s");
  EXPECT_EQ(format_value(12.34, Unit::kDuration), "12.3 s");
  EXPECT_EQ(format_value(100, Unit::kDuration), "1:40");
  EXPECT_EQ(format_value(2, Unit::kSeconds), "2 s");
  EXPECT_EQ(format_value(0, Unit::kSeconds), "0 s");
  EXPECT_EQ(format_value(99.5, Unit::kPercent), "99.5 %");
  EXPECT_EQ(format_value(NAN, Unit::kBytes), "not finite");
  EXPECT_EQ(format_value(-5, Unit::kBytes), "-5");
}

}  // namespace
}  // namespace tandem::report
