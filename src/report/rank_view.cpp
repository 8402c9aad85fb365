#include "tandem/report/rank_view.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "band.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json_fields.hpp"
#include "tandem/metrics/metric_lines.hpp"

namespace tandem::report {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr char kStep[] = "step";
constexpr char kComm[] = "comm_seconds";

const std::pair<const char*, const char*> kTitles[] = {
    {"step_seconds", "Whole step"},
    {"data_seconds", "Waiting for data"},
    {"compute_seconds", "Forward and backward"},
    {"comm_seconds", "Exchange, waiting for others included"},
    {"cpu_percent", "CPU"},
    {"rss_bytes", "Memory"},
    {"threads", "Threads"},
    {"context_switches_per_second", "CPU given up, times a second"},
    {"forced_switches_per_second", "CPU taken away, times a second"},
    {"read_bytes_per_second", "Read from storage, a second"},
    {"write_bytes_per_second", "Written to storage, a second"},
    {"cgroup_memory_bytes", "Memory of the control group"},
    {"cgroup_memory_limit_bytes", "Limit of the control group's memory"},
    {"throttled_percent", "Held back by the CPU limit"},
    {"gpu_percent", "GPU"},
    {"gpu_memory_bytes", "GPU memory"},
    {"gpu_watts", "GPU power, W"},
    {"gpu_celsius", "GPU temperature, °C"},
};

// Each line speaks of the steps since the one before it, or since the start of the run that made
// it: `starts` are the steps that were done before each, lowest first.
std::vector<double> steps_of_lines(const metrics::EventLines& lines,
                                   const std::vector<double>& starts) {
  std::vector<double> steps;
  double before = 0;
  for (const double step : lines.step) {
    const auto later = std::lower_bound(starts.begin(), starts.end(), step);
    if (later != starts.begin()) before = std::max(before, *std::prev(later));
    steps.push_back(std::max(1.0, step - before));
    before = step;
  }
  return steps;
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

// Values of a field weighted by the steps that they speak of.
double mean_per_step(const metrics::MetricLines& lines, const std::string& field,
                     const std::vector<double>& steps) {
  double sum = 0;
  double weight = 0;
  for (const metrics::Sample& sample : lines.samples(kStep, field)) {
    if (!std::isfinite(sample.value)) continue;
    sum += steps[sample.line] * sample.value;
    weight += steps[sample.line];
  }
  return weight > 0 ? sum / weight : kNone;
}

// The least of all ranks in `comm_seconds`, line by line: what the exchange itself took, because
// the rank that comes last waits for nobody.
class LeastExchange {
 public:
  void add(const metrics::MetricLines& lines, const std::vector<double>& steps) {
    const auto found = lines.events.find(kStep);
    if (found == lines.events.end()) return;
    for (const metrics::Sample& sample : lines.samples(kStep, kComm)) {
      if (!std::isfinite(sample.value)) continue;
      const double step = found->second.step[sample.line];
      const Entry mine{sample.value, steps[sample.line]};
      Entry& entry = least_.emplace_hint(least_.end(), step, mine)->second;
      entry.seconds = std::min(entry.seconds, mine.seconds);
      entry.steps = std::min(entry.steps, mine.steps);  // more where a line of a rank was lost
    }
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
  struct Entry {
    double seconds;
    double steps;
  };
  std::map<double, Entry> least_;  // by step
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
    for (const auto& [name, samples] : of_event.fields) {
      const auto is_same = [&name = name](const Field& other) { return other.name == name; };
      const bool is_known = std::any_of(fields.begin(), fields.end(), is_same);
      if (is_worth_a_curve(name) && !is_known && fields.size() < kMostRankMetrics) {
        fields.push_back({event, name});
      }
    }
  }
  return fields;
}

RankRow summarise(int rank, const metrics::MetricLines& lines, const std::vector<Field>& fields,
                  const std::vector<double>& steps) {
  RankRow row;
  row.rank = rank;
  row.step_seconds = mean_per_step(lines, "step_seconds", steps);
  row.data_seconds = mean_per_step(lines, "data_seconds", steps);
  row.compute_seconds = mean_per_step(lines, "compute_seconds", steps);
  row.wait_seconds = mean_per_step(lines, kComm, steps);  // less the exchange, once it is known
  double all_steps = 0;
  for (const double each : steps) all_steps += each;
  for (const metrics::Sample& sample : lines.samples(kStep, "images")) {
    if (std::isfinite(sample.value)) row.images += sample.value;
  }
  row.images_per_second = row.images / (row.step_seconds * all_steps);
  for (const Field& field : fields) {
    if (is_step_time(field.name)) continue;
    double sum = 0;
    double count = 0;
    double highest = -std::numeric_limits<double>::infinity();
    for (const metrics::Sample& sample : lines.samples(field.event, field.name)) {
      if (!std::isfinite(sample.value)) continue;
      sum += sample.value;
      ++count;
      highest = std::max(highest, sample.value);
    }
    if (count == 0) continue;
    row.mean[field.name] = sum / count;
    row.highest[field.name] = highest;
  }
  return row;
}

}  // namespace

std::string metric_title(const std::string& field) {
  for (const auto& [name, title] : kTitles) {
    if (field == name) return title;
  }
  return field;
}

bool is_step_time(const std::string& field) {
  return field == "step_seconds" || field == "data_seconds" || field == "compute_seconds" ||
         field == kComm;
}

RankView read_ranks(const metrics::RunRecord& run, const Columns& columns) {
  RankView view;
  LeastExchange least;
  std::map<std::string, Band> bands;
  const std::vector<double> starts = starts_of(run);
  const std::vector<std::pair<int, std::string>> files = run.rank_metrics();
  view.curves.is_band = files.size() > kMostRankCurves;
  for (const auto& [rank, path] : files) {
    metrics::MetricLines lines;
    try {
      lines = metrics::read_metric_lines(path);
    } catch (const Error& error) {
      view.faults.push_back(error.what());
      continue;
    }
    const std::vector<Field> fields = fields_of(lines);
    std::vector<double> steps;
    if (const auto found = lines.events.find(kStep); found != lines.events.end()) {
      steps = steps_of_lines(found->second, starts);
    }
    view.rows.push_back(summarise(rank, lines, fields, steps));
    least.add(lines, steps);
    for (const Field& field : fields) {
      const Points points = points_of(lines, field.event, field.name, Axis::kStep);
      if (view.curves.is_band) {
        if (bands.size() < kMostRankMetrics || bands.count(field.name) > 0) {
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
