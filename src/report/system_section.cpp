#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "chart.hpp"
#include "sections.hpp"
#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

std::vector<std::string> system_metrics(const RankView& ranks) {
  std::vector<std::string> names;
  for (const RankRow& row : ranks.rows) {
    for (const auto& [name, value] : row.mean) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end(), stands_before);
  return names;
}

Html name_cell(const std::string& metric) { return Html(shortened(metric_title(metric), 60)); }

// A column for each rank.
std::vector<std::vector<Html>> rows_by_rank(const RankView& ranks) {
  std::vector<std::vector<Html>> rows{{Html("mean, and highest")}};
  for (const RankRow& row : ranks.rows) {
    rows.front().push_back(Html("rank " + std::to_string(row.rank)));
  }
  for (const std::string& metric : system_metrics(ranks)) {
    std::vector<Html> cells{name_cell(metric)};
    for (const RankRow& row : ranks.rows) {
      const auto mean = row.mean.find(metric);
      if (mean == row.mean.end()) {
        cells.push_back(Html(kDash));
        continue;
      }
      const std::string shown = format_value(mean->second, unit_of(metric));
      const std::string highest = format_value(row.highest.at(metric), unit_of(metric));
      cells.push_back(Html(shown));
      if (highest != shown) cells.back() += element("small", Html(" max " + highest));
    }
    rows.push_back(cells);
  }
  return rows;
}

// For more ranks than a table can hold, those that stand out.
std::vector<std::vector<Html>> rows_of_all_ranks(const RankView& ranks) {
  std::vector<std::vector<Html>> rows{{Html("of all ranks"), Html("lowest mean"), Html("mean"),
                                       Html("highest mean"), Html("highest ever")}};
  for (const std::string& metric : system_metrics(ranks)) {
    const RankRow* lowest = nullptr;
    const RankRow* highest = nullptr;
    double sum = 0;
    double count = 0;
    double ever = -std::numeric_limits<double>::infinity();
    for (const RankRow& row : ranks.rows) {
      if (row.mean.count(metric) == 0) continue;
      const double mean = row.mean.at(metric);
      sum += mean;
      ++count;
      if (lowest == nullptr || mean < lowest->mean.at(metric)) lowest = &row;
      if (highest == nullptr || mean > highest->mean.at(metric)) highest = &row;
      ever = std::max(ever, row.highest.at(metric));
    }
    const Unit unit = unit_of(metric);
    const auto of_rank = [&](const RankRow& row) {
      return value_cell(row.mean.at(metric), unit) +
             element("small", Html(" rank " + std::to_string(row.rank)));
    };
    rows.push_back({name_cell(metric), of_rank(*lowest), value_cell(sum / count, unit),
                    of_rank(*highest), value_cell(ever, unit)});
  }
  return rows;
}

}  // namespace

Unit unit_of(const std::string& field) {
  if (ends_with(field, "_seconds")) return Unit::kSeconds;
  if (ends_with(field, "_bytes") || ends_with(field, "_bytes_per_second")) return Unit::kBytes;
  return ends_with(field, "_percent") ? Unit::kPercent : Unit::kNumber;
}

Html draw_metrics(const RankView& ranks, bool is_of_step) {
  std::vector<std::string> fields;
  for (const auto& [field, curves] : ranks.curves.by_metric) {
    if (is_step_time(field) == is_of_step) fields.push_back(field);
  }
  std::sort(fields.begin(), fields.end(), stands_before);
  Html charts;
  for (const std::string& field : fields) {
    Chart chart;
    chart.title = shortened(metric_title(field), 80);
    chart.unit = unit_of(field);
    chart.is_from_zero = true;
    for (const auto& [name, points] : ranks.curves.by_metric.at(field)) {
      chart.curves.push_back({name, points, false});
    }
    charts += draw(chart);
  }
  if (charts.empty()) return {};
  return element("div", {{"class", "charts"}}, charts);
}

Html system_section(const RunView& run) {
  const bool has_columns = run.ranks.rows.size() <= kMaxRankCurves;
  const auto rows = has_columns ? rows_by_rank(run.ranks) : rows_of_all_ranks(run.ranks);
  if (rows.size() == 1) return {};
  return section("System", table(rows, "ranks system") + draw_metrics(run.ranks, false));
}

}  // namespace tandem::report
