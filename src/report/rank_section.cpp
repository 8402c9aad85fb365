#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "chart.hpp"
#include "sections.hpp"
#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

constexpr std::size_t kMaxRows = 512;  // of all runs of a page

// The parts of a step in the order of their colors; "other" is the rest: the update.
const std::pair<const char*, double RankRow::*> kPhases[] = {
    {"data", &RankRow::data_seconds},
    {"compute", &RankRow::compute_seconds},
    {"exchange", &RankRow::exchange_seconds},
    {"wait", &RankRow::wait_seconds},
};

// The whole width is the slowest rank's step.
Html draw_step(const RankRow& row, double longest) {
  constexpr double kBarWidth = 1000;
  Html bars;
  double begin = 0;
  std::size_t color = 0;
  for (const auto& [name, phase] : kPhases) {
    const double seconds = row.*phase;
    const double share = seconds / longest;
    // Phases longer than the whole step come from a file that tandem did not write.
    const double width = share > 0 ? std::min(kBarWidth * share, kBarWidth - begin) : 0;
    bars += element(
        "rect",
        {{"class", "c" + std::to_string(color++)},
         {"x", format_fixed(begin, 0)},
         {"width", format_fixed(width, 0)},
         {"height", "10"}},
        element("title", Html(name + std::string(" ") + format_value(seconds, Unit::kSeconds))));
    begin += width;
  }
  return element("svg",
                 {{"class", "bar"},
                  {"viewBox", "0 0 " + format_fixed(kBarWidth, 0) + " 10"},
                  {"preserveAspectRatio", "none"},
                  {"role", "img"},
                  {"aria-label", "split of a step of rank " + std::to_string(row.rank)}},
                 bars);
}

Html key_of_parts() {
  Html names;
  std::size_t color = 0;
  for (const auto& [name, phase] : kPhases) {
    names += element("li", {{"class", "c" + std::to_string(color++)}}, Html(name));
  }
  return element("ul", {{"class", "key"}}, names);
}

Html place_of(const RunView& run, int rank) {
  const std::string host = rank_text(run, rank, "host");
  if (host.empty()) return Html(kDash);
  return Html(shortened(host, 80) + ", " + shortened(rank_text(run, rank, "device"), 40));
}

Html table_of_ranks(const RunView& run, std::size_t most) {
  double longest = 0;
  for (const RankRow& row : run.ranks.rows) {
    if (row.step_seconds > longest) longest = row.step_seconds;
  }
  std::vector<Html> head;
  for (const char* name : {"rank", "host and device", "step", "data", "compute", "exchange", "wait",
                           "split of a step", "images", "images/s"}) {
    head.push_back(Html(name));
  }
  std::vector<std::vector<Html>> rows{head};
  for (const RankRow& row : run.ranks.rows) {
    if (rows.size() > most) break;
    std::vector<Html> cells{Html(std::to_string(row.rank)), place_of(run, row.rank),
                            value_cell(row.step_seconds, Unit::kSeconds)};
    for (const auto& [name, phase] : kPhases)
      cells.push_back(value_cell(row.*phase, Unit::kSeconds));
    cells.push_back(longest > 0 ? draw_step(row, longest) : Html(kDash));
    cells.push_back(value_cell(row.images, Unit::kNumber));
    cells.push_back(value_cell(row.images_per_second, Unit::kNumber));
    rows.push_back(cells);
  }
  Html content = table(rows, "ranks");
  if (run.ranks.rows.size() > most) {
    content += element("p", Html("Only in the folder's ranks/*.jsonl: " +
                                 format_quantity(run.ranks.rows.size() - most, "more rank") + "."));
  }
  return content;
}

// In the order of the page.
using Metrics = std::set<std::string, decltype(&stands_before)>;

Metrics system_metrics(const RankView& ranks) {
  Metrics names(stands_before);
  for (const RankRow& row : ranks.rows) {
    for (const auto& [name, value] : row.mean) names.insert(name);
  }
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

// "CPU 21.2 % to 23.4 %, Memory 512 MB": the first of them.
std::string describe_system(const RankView& ranks) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> texts;
  for (const std::string& metric : system_metrics(ranks)) {
    if (texts.size() == kMost) break;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const RankRow& row : ranks.rows) {
      if (row.mean.count(metric) == 0) continue;
      low = std::min(low, row.mean.at(metric));
      high = std::max(high, row.mean.at(metric));
    }
    const std::string from = format_value(low, unit_of(metric));
    const std::string to = format_value(high, unit_of(metric));
    texts.push_back(shortened(metric_title(metric), 60) + " " + from +
                    (from == to ? "" : " to " + to));
  }
  return join(texts, ", ");
}

// Does not change during a run, so the table shows all of it.
bool is_constant(const std::string& field) {
  return field == "host_cpus" || ends_with(field, "_limit_bytes") ||
         ends_with(field, "_total_bytes");
}

}  // namespace

Html rank_section(const RunView& run, std::size_t runs) {
  if (run.ranks.left_out_bytes > 0) {
    return section(
        "Ranks", element("p", Html("With " + format_value(run.ranks.left_out_bytes, Unit::kBytes) +
                                   " the files of the ranks were too large to be read before the "
                                   "run ended: `tandem report` of its folder shows them.")));
  }
  if (run.ranks.rows.empty()) return {};
  const Html words =
      element("p", Html("Means per step. Exchange: the time that the last rank needed to sum "
                        "gradients. Wait: what the other ranks took longer."));
  return section("Ranks", words + key_of_parts() +
                              table_of_ranks(run, std::max<std::size_t>(8, kMaxRows / runs)) +
                              draw_metrics(run.ranks, true));
}

Unit unit_of(const std::string& field) {
  if (ends_with(field, "_seconds")) return Unit::kSeconds;
  if (ends_with(field, "_bytes") || ends_with(field, "_bytes_per_second")) return Unit::kBytes;
  return ends_with(field, "_percent") ? Unit::kPercent : Unit::kNumber;
}

Html draw_metrics(const RankView& ranks, bool is_of_step) {
  Metrics fields(stands_before);
  for (const auto& [field, curves] : ranks.curves.by_metric) {
    if (is_step_time(field) == is_of_step && !is_constant(field)) fields.insert(field);
  }
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
  return section(
      "System",
      element("details", element("summary", Html("Means: " + describe_system(run.ranks))) +
                             table(rows, "ranks system") + draw_metrics(run.ranks, false)));
}

}  // namespace tandem::report
