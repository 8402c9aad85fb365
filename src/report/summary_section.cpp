#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "chart.hpp"
#include "sections.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

using Cell = std::function<Html(const RunView&)>;
using Value = std::function<double(const RunView&)>;

enum class Better { kNeither, kHigher, kLower };

// A line of a table with a column for each run.
struct Line {
  std::string name;
  Cell cell;
  Value value = nullptr;  // the number to compare between runs
  Unit unit = Unit::kNumber;
  Better better = Better::kNeither;
};
using Lines = std::vector<Line>;

Line number(const std::string& name, const Value& value, Unit unit = Unit::kNumber,
            Better better = Better::kNeither) {
  const Cell cell = [=](const RunView& run) { return value_cell(value(run), unit); };
  return {name, cell, value, unit, better};
}

Value result(const std::string& field, const std::string& event, const std::string& in_lines = "") {
  return [=](const RunView& run) { return result_of(run, field, event, in_lines); };
}

Line duration(const std::string& name, const std::string& field) {
  return number(name, result(field, ""), Unit::kDuration);
}

Cell version_of(const std::string& part) {
  return [=](const RunView& run) {
    return dash_or(text_of(member(run.record.manifest, "versions"), part));
  };
}

// The highest value of a field of evaluations, and its step.
Line best_line(const std::string& name, const std::string& field) {
  const auto cell = [field](const RunView& run) {
    const metrics::Sample* best = best_evaluation(run, field);
    if (best == nullptr) return Html(kDash);
    return value_cell(best->value, Unit::kAccuracy) + Html(" at step ") +
           value_cell(best->step, Unit::kNumber);
  };
  const auto value = [field](const RunView& run) {
    const metrics::Sample* best = best_evaluation(run, field);
    return best == nullptr ? std::nan("") : best->value;
  };
  return {name, cell, value, Unit::kAccuracy, Better::kHigher};
}

Html error_cell(const RunView& run) {
  const std::string error = text_of(run.record.summary, "error");
  return error.empty() ? Html(kDash) : paragraph_text(error, 1000);
}

Html weights_cell(const RunView& run) {
  return dash_or(text_of(run.record.summary, "weights_sha256").substr(0, 16));
}

// The most important lines: outcome, results, cost.
Lines first_lines() {
  return {
      {"state", state_of},
      {"error", error_cell},
      number("test accuracy", result("test_accuracy", "eval"), Unit::kAccuracy, Better::kHigher),
      number("with test-time augmentation", result("test_accuracy_tta", "eval"), Unit::kAccuracy,
             Better::kHigher),
      number("test accuracy in the top 5", result("test_accuracy_top5", "eval"), Unit::kAccuracy,
             Better::kHigher),
      number("test mAP", result("test_map", "eval"), Unit::kAccuracy, Better::kHigher),
      best_line("best test accuracy", "test_accuracy"),
      best_line("best test mAP", "test_map"),
      {"slowest rank", [](const RunView& run) { return dash_or(describe_slowest_rank(run)); }},
      {"busy host", [](const RunView& run) { return dash_or(describe_busy_host(run)); }},
      number("images per second", result("images_per_second", "step"), Unit::kNumber,
             Better::kHigher),
      duration("time of training", "train_seconds"),
      number("training loss", result("train_loss", "step", "loss")),
      number("test loss", result("test_loss", "eval"), Unit::kNumber, Better::kLower),
      number("steps", steps_of),
      number("epochs", epochs_of),
      {"ranks", [](const RunView& run) { return dash_or(describe_ranks(run)); }},
      {"model", [](const RunView& run) { return dash_or(run.record.option("model")); }},
      {"data set", [](const RunView& run) { return dash_or(describe_data(run)); }},
      {"started", [](const RunView& run) { return Html(format_time(run.record.started())); }}};
}

Lines other_lines() {
  return {duration("time of evaluations", "evaluation_seconds"),
          duration("time to the first step", "startup_seconds"),
          {"weights", weights_cell},
          {"tandem", version_of("tandem")},
          {"libtorch", version_of("libtorch")},
          {"folder", [](const RunView& run) { return Html(shortened(run.record.path)); }}};
}

// "+0.1600", "−1,200 (−24 %)": from the first to the second of two runs. For more runs the range.
std::string describe_difference(const std::vector<double>& values, const Line& line) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return "same";
  if (values.size() > 2) return format_value(*high - *low, line.unit);
  const double difference = values[1] - values[0];
  const std::string sign = difference > 0 ? "+" : "−";
  std::string text = sign + format_value(std::abs(difference), line.unit);
  if (line.unit == Unit::kAccuracy || values[0] == 0) return text;
  return text + " (" + sign + format_fixed(100 * std::abs(difference / values[0]), 0) + " %)";
}

// Marks the best cells of a row and adds the difference, if all runs have the value.
void compare(const Runs& runs, const Line& line, std::vector<Html>& row) {
  std::vector<double> values;
  for (const RunView& run : runs) {
    const double value = line.value ? line.value(run) : std::nan("");
    if (std::isfinite(value)) values.push_back(value);
  }
  if (values.size() < runs.size()) {
    row.push_back(Html());
    return;
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double best = line.better == Better::kHigher ? *high : *low;
  const bool has_best = line.better != Better::kNeither && *low != *high;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!has_best || values[i] != best) continue;
    row[i + 1] = element("strong", {{"class", "best"}}, row[i + 1] + Html(" ★ best"));
  }
  row.push_back(Html(describe_difference(values, line)));
}

// Leaves out the lines for which no run has a value.
Html table_of(const Runs& runs, const Lines& lines) {
  std::vector<std::vector<Html>> rows{names_of(runs, "run")};
  if (runs.size() > 1) rows.front().push_back(Html(runs.size() == 2 ? "difference" : "extent"));
  for (const Line& line : lines) {
    std::vector<Html> row{Html(line.name)};
    bool has_value = false;
    for (const RunView& run : runs) {
      row.push_back(line.cell(run));
      has_value = has_value || row.back().markup() != kDash;
    }
    if (!has_value) continue;
    if (runs.size() > 1) compare(runs, line, row);
    rows.push_back(row);
  }
  return table(rows);
}

}  // namespace

double result_of(const RunView& run, const std::string& field, const std::string& event,
                 const std::string& in_lines) {
  if (run.record.summary.is_object()) return number_of(run.record.summary, field);
  return run.lines.last(event, in_lines.empty() ? field : in_lines);
}

double steps_of(const RunView& run) {
  const double steps = number_of(run.record.summary, "steps");
  return std::isfinite(steps) ? steps : run.lines.last_step();
}

double epochs_of(const RunView& run) {
  const double epochs = number_of(run.record.summary, "epochs");
  return std::isfinite(epochs) ? epochs : run.lines.event("step").last_epoch;
}

const metrics::Sample* best_evaluation(const RunView& run, const std::string& field) {
  const metrics::Sample* best = nullptr;
  for (const metrics::Sample& sample : run.lines.samples("eval", field)) {
    if (std::isfinite(sample.value) && (best == nullptr || sample.value > best->value)) {
      best = &sample;
    }
  }
  return best;
}

Html state_of(const RunView& run) {
  const std::string state = run.record.state();
  const bool is_known = state == "completed" || state == "stopped" || state == "failed" ||
                        state == "running" || state == "unfinished";
  Html cell = element("span", {{"class", "state " + (is_known ? state : "")}}, dash_or(state));
  if (state == "unfinished") {
    cell += Html(" no summary, and no process holds the lock of the folder");
  }
  return cell;
}

Html summary_section(const Runs& runs) {
  const Html first = table_of(runs, first_lines());
  const Html others = table_of(runs, other_lines());
  if (runs.size() > 1) {
    return section(
        "Summary",
        warn_of_unlike(runs) + first +
            element("details", element("summary", Html("Times, versions, folder")) + others));
  }
  return element(
      "section", {{"class", "headline"}},
      element("h2", Html("Summary")) + headline_section(runs.front()) +
          element("details",
                  element("summary", Html("All results, times and versions")) + first + others));
}

}  // namespace tandem::report
