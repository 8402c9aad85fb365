#include "rank_view.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/metric_lines.hpp"
#include "thin.hpp"

namespace tandem::report {
namespace {

// The range that the curves of many ranks span, per column of a drawing. One thread at a time.
class Band {
 public:
  explicit Band(const Columns& columns) : columns_(columns), of_column_(columns.count) {}

  void add(const Points& points);
  // Lowest, mean and highest, each with its name; a point for each column that has any.
  std::vector<std::pair<std::string, Points>> curves() const;

 private:
  struct Column {
    double low = 0;
    double high = 0;
    double sum = 0;
    double count = 0;
  };
  Columns columns_;
  std::vector<Column> of_column_;
};

void Band::add(const Points& points) {
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) continue;
    Column& column = of_column_[columns_.of(point.x)];
    if (column.count == 0) column.low = column.high = point.y;
    column.low = std::min(column.low, point.y);
    column.high = std::max(column.high, point.y);
    column.sum += point.y;
    ++column.count;
  }
}

std::vector<std::pair<std::string, Points>> Band::curves() const {
  Points lowest;
  Points mean;
  Points highest;
  const double width = (columns_.high - columns_.low) / static_cast<double>(columns_.count);
  for (std::size_t i = 0; i < of_column_.size(); ++i) {
    const Column& column = of_column_[i];
    if (column.count == 0) continue;
    const double x = columns_.low + (static_cast<double>(i) + 0.5) * width;
    lowest.push_back({x, column.low});
    mean.push_back({x, column.sum / column.count});
    highest.push_back({x, column.high});
  }
  return {{"lowest of all ranks", lowest},
          {"mean of all ranks", mean},
          {"highest of all ranks", highest}};
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr char kStep[] = "step";
constexpr char kComm[] = "comm_seconds";

struct Titled {
  const char* name;
  const char* title;
};

constexpr Titled kStepTimes[] = {{"step_seconds", "Whole step"},
                                 {"data_seconds", "Waiting for data"},
                                 {"compute_seconds", "Forward and backward"},
                                 {kComm, "Exchange, waiting for others included"}};

// A metric's place on the page, and its title; nullptr for metrics without one, which come last.
struct Place {
  std::size_t number;
  const char* title;
};

Place place_of(const std::string& field) {
  std::size_t number = 0;
  for (const Titled& each : kStepTimes) {
    if (field == each.name) return {number, each.title};
    ++number;
  }
  for (const metrics::SystemValueSpec& spec : metrics::kSystemValueSpecs) {
    if (field == spec.name) return {number, spec.title};
    ++number;
  }
  return {number, nullptr};
}

std::vector<double> starts_of(const metrics::RunRecord& run) {
  std::vector<double> starts;
  const Json& segments = member(run.manifest, "segments");
  if (!segments.is_array()) return starts;
  for (const Json& segment : segments) {
    const double first = number_of(segment, "first_step");
    if (std::isfinite(first)) starts.push_back(first);
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

// The minimum of `comm_seconds` over all ranks, line by line: the cost of the exchange itself,
// because the rank that comes last does not wait. For many lines only those of steps chosen by
// their number, the same for each rank.
class LeastExchange {
 public:
  void add(const metrics::PassingLine& line) {
    if (line.event != kStep || !is_chosen(line.step)) return;
    const double seconds = line.number(kComm);
    if (!std::isfinite(seconds)) return;
    const Entry mine{seconds, line.steps};
    Entry& entry = least_.emplace_hint(least_.end(), line.step, mine)->second;
    entry.seconds = std::min(entry.seconds, mine.seconds);
    entry.steps = std::min(entry.steps, mine.steps);  // more where a line of a rank was lost
    while (least_.size() > kMax) choose_half();
  }
  double mean() const {
    double sum = 0;
    double weight = 0;
    for (const auto& [step, entry] : least_) {
      sum += entry.seconds * entry.steps;
      weight += entry.steps;
    }
    return weight > 0 ? sum / weight : kNone;
  }

 private:
  static constexpr std::size_t kMax = std::size_t{1} << 18;

  struct Entry {
    double seconds;
    double steps;
  };
  // By the leading bits of the step times the golden ratio (Knuth 6.4), so that no periodic pattern
  // of the lines affects the choice.
  bool is_chosen(double step) const {
    constexpr double kLargest = 1e18;
    const auto number = static_cast<std::uint64_t>(std::min(step, kLargest));
    return number * 0x9E3779B97F4A7C15U <= last_chosen_;
  }
  void choose_half() {
    last_chosen_ /= 2;
    for (auto each = least_.begin(); each != least_.end();) {
      each = is_chosen(each->first) ? std::next(each) : least_.erase(each);
    }
  }

  std::map<double, Entry> least_;  // by step
  std::uint64_t last_chosen_ = std::numeric_limits<std::uint64_t>::max();
};

struct Field {
  std::string event;
  std::string name;
};

// A rank's images and loss say little, and its images a second are those of all, because ranks
// wait for each other.
bool is_worth_a_curve(const std::string& field) {
  return field != "images" && field != "loss" && field != "images_per_second";
}

std::vector<Field> fields_of(const metrics::MetricLines& lines) {
  std::vector<Field> fields;
  for (const auto& [event, of_event] : lines.events) {
    for (const auto& [name, series] : of_event.fields) {
      const auto is_same = [&field = name](const Field& other) { return other.name == field; };
      const bool is_known = std::any_of(fields.begin(), fields.end(), is_same);
      if (is_worth_a_curve(name) && !is_known && fields.size() < kMaxRankMetrics) {
        fields.push_back({event, name});
      }
    }
  }
  return fields;
}

RankRow summarize(int rank, const metrics::MetricLines& lines, const std::vector<Field>& fields) {
  const auto per_step = [&](const char* field) {
    return lines.series(kStep, field).mean_per_step();
  };
  RankRow row;
  row.rank = rank;
  row.step_seconds = per_step("step_seconds");
  row.data_seconds = per_step("data_seconds");
  row.compute_seconds = per_step("compute_seconds");
  row.wait_seconds = per_step(kComm);  // less the exchange, once it is known
  row.images = lines.series(kStep, "images").sum();
  row.images_per_second = row.images / (row.step_seconds * lines.event(kStep).steps);
  for (const Field& field : fields) {
    const metrics::SampleSeries& series = lines.series(field.event, field.name);
    if (is_step_time(field.name) || std::isnan(series.mean())) continue;
    row.mean[field.name] = series.mean();
    row.highest[field.name] = series.highest();
  }
  return row;
}

}  // namespace

std::string metric_title(const std::string& field) {
  const char* title = place_of(field).title;
  return title == nullptr ? field : title;
}

bool stands_before(const std::string& field, const std::string& other) {
  const std::size_t place = place_of(field).number;
  const std::size_t other_place = place_of(other).number;
  return place == other_place ? field < other : place < other_place;
}

bool is_step_time(const std::string& field) {
  return place_of(field).number < std::size(kStepTimes);
}

RankView read_ranks(const metrics::RunRecord& run, const Columns& columns) {
  RankView view;
  LeastExchange least;
  std::map<std::string, Band> bands;
  metrics::Reading reading;
  reading.starts = starts_of(run);
  reading.see = [&](const metrics::PassingLine& line) { least.add(line); };
  const std::vector<std::pair<int, std::string>> files = run.rank_metrics();
  view.curves.is_band = files.size() > kMaxRankCurves;
  for (const auto& [rank, path] : files) {
    metrics::MetricLines lines;
    try {
      lines = metrics::read_metric_lines(path, reading);
    } catch (const Error& error) {
      view.faults.push_back(error.what());
      continue;
    }
    const std::vector<Field> fields = fields_of(lines);
    view.rows.push_back(summarize(rank, lines, fields));
    for (const Field& field : fields) {
      const Points points = points_of(lines.samples(field.event, field.name), Axis::kStep);
      if (view.curves.is_band) {
        if (bands.size() < kMaxRankMetrics || bands.count(field.name) > 0) {
          bands.try_emplace(field.name, columns).first->second.add(points);
        }
      } else {
        view.curves.by_metric[field.name].emplace_back("rank " + std::to_string(rank),
                                                       thin(points, columns));
      }
    }
  }
  for (const auto& [field, band] : bands) view.curves.by_metric[field] = band.curves();
  const double exchange = least.mean();
  for (RankRow& row : view.rows) {
    row.exchange_seconds =
        std::isfinite(row.wait_seconds) ? std::min(exchange, row.wait_seconds) : kNone;
    row.wait_seconds -= row.exchange_seconds;
  }
  return view;
}

}  // namespace tandem::report
