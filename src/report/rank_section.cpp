#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sections.hpp"
#include "tandem/core/json_fields.hpp"
#include "tandem/core/text.hpp"
#include "tandem/report/chart.hpp"

namespace tandem::report {
namespace {

constexpr std::size_t kMostRows = 512;  // of all runs of a page

// The parts of a step in the order of their colours; "other" is what is left of it: the update.
const std::pair<const char*, double RankRow::*> kParts[] = {
    {"data", &RankRow::data_seconds},
    {"compute", &RankRow::compute_seconds},
    {"exchange", &RankRow::exchange_seconds},
    {"wait", &RankRow::wait_seconds},
};

Unit unit_of(const std::string& field) {
  if (ends_with(field, "_seconds")) return Unit::kSeconds;
  if (ends_with(field, "_bytes") || ends_with(field, "_bytes_per_second")) return Unit::kBytes;
  return ends_with(field, "_percent") ? Unit::kPercent : Unit::kNumber;
}

// The whole width is the slowest rank's step.
Html draw_step(const RankRow& row, double longest) {
  constexpr double kWidth = 1000;
  Html bars;
  double begin = 0;
  std::size_t colour = 0;
  for (const auto& [name, part] : kParts) {
    const double seconds = row.*part;
    const double share = seconds / longest;
    // Parts that are more than a whole step come from a file that somebody else made.
    const double width = share > 0 ? std::min(kWidth * share, kWidth - begin) : 0;
    bars += element(
        "rect",
        {{"class", "c" + std::to_string(colour++)},
         {"x", format_fixed(begin, 0)},
         {"width", format_fixed(width, 0)},
         {"height", "10"}},
        element("title", Html(name + std::string(" ") + format_value(seconds, Unit::kSeconds))));
    begin += width;
  }
  return element("svg",
                 {{"class", "bar"},
                  {"viewBox", "0 0 " + format_fixed(kWidth, 0) + " 10"},
                  {"preserveAspectRatio", "none"},
                  {"role", "img"},
                  {"aria-label", "split of a step of rank " + std::to_string(row.rank)}},
                 bars);
}

Html key_of_parts() {
  Html names;
  std::size_t colour = 0;
  for (const auto& [name, part] : kParts) {
    names += element("li", {{"class", "c" + std::to_string(colour++)}}, Html(name));
  }
  return element("ul", {{"class", "key"}}, names);
}

// What the manifest says of a rank.
Html place_of(const RunView& run, int rank) {
  const Json& ranks = member(run.record.manifest, "ranks");
  const auto at = static_cast<std::size_t>(rank);
  if (!ranks.is_array() || at >= ranks.size()) return Html(kDash);
  return Html(shortened(text_of(ranks[at], "host"), 80) + ", " +
              shortened(text_of(ranks[at], "device"), 40));
}

std::set<std::string> system_metrics(const RankView& ranks) {
  std::set<std::string> names;
  for (const RankRow& row : ranks.rows) {
    for (const auto& [name, value] : row.mean) names.insert(name);
  }
  return names;
}

double at_or_none(const std::map<std::string, double>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nan("") : found->second;
}

Html table_of_ranks(const RunView& run, std::size_t most) {
  const std::set<std::string> system = system_metrics(run.ranks);
  double longest = 0;
  for (const RankRow& row : run.ranks.rows) {
    if (row.step_seconds > longest) longest = row.step_seconds;
  }
  std::vector<Html> head;
  for (const char* name : {"rank", "host and device", "images", "images/s", "step", "data",
                           "compute", "exchange", "wait", "split of a step"}) {
    head.push_back(Html(name));
  }
  for (const std::string& name : system) {
    head.push_back(Html(shortened(metric_title(name), 60) + ", mean"));
    head.push_back(Html("highest"));
  }
  std::vector<std::vector<Html>> rows{head};
  for (const RankRow& row : run.ranks.rows) {
    if (rows.size() > most) break;
    std::vector<Html> cells{Html(std::to_string(row.rank)), place_of(run, row.rank),
                            value_cell(row.images, Unit::kNumber),
                            value_cell(row.images_per_second, Unit::kNumber),
                            value_cell(row.step_seconds, Unit::kSeconds)};
    for (const auto& [name, part] : kParts) cells.push_back(value_cell(row.*part, Unit::kSeconds));
    cells.push_back(longest > 0 ? draw_step(row, longest) : Html(kDash));
    for (const std::string& name : system) {
      cells.push_back(value_cell(at_or_none(row.mean, name), unit_of(name)));
      cells.push_back(value_cell(at_or_none(row.highest, name), unit_of(name)));
    }
    rows.push_back(cells);
  }
  Html content = table(rows, "ranks");
  if (run.ranks.rows.size() > most) {
    content += element("p", Html("The other " + std::to_string(run.ranks.rows.size() - most) +
                                 " ranks are in the folder's ranks/*.jsonl."));
  }
  return content;
}

Html draw_metrics(const RankView& ranks) {
  Html charts;
  for (const auto& [field, curves] : ranks.curves.by_metric) {
    Chart chart;
    chart.title = shortened(metric_title(field), 80);
    chart.unit = unit_of(field);
    chart.is_from_zero = true;
    for (const auto& [name, points] : curves) chart.curves.push_back({name, points, false});
    charts += draw(chart);
  }
  if (charts.empty()) return {};
  return element("div", {{"class", "charts"}}, charts);
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
  const Html words = element(
      "p", Html("Means per step. The exchange is what the rank that came last needed for it; what "
                "the others took longer is waiting for that one."));
  return section("Ranks", words + key_of_parts() +
                              table_of_ranks(run, std::max<std::size_t>(8, kMostRows / runs)) +
                              draw_metrics(run.ranks));
}

}  // namespace tandem::report
