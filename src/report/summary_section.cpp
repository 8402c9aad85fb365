#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "chart.hpp"
#include "sections.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

using Cell = std::function<Html(const RunView&)>;

// From the summary, or without one from the last line with the field.
Cell number(const std::string& field, const std::string& event, const std::string& in_lines,
            Unit unit = Unit::kNumber) {
  return [=](const RunView& run) {
    const double value = number_of(run.record.summary, field);
    const bool is_known = run.record.summary.is_object() || event.empty();
    return value_cell(is_known ? value : run.lines.last(event, in_lines), unit);
  };
}

Cell duration(const std::string& field) {
  return [=](const RunView& run) {
    const double seconds = number_of(run.record.summary, field);
    if (!(seconds >= 0 && seconds < 1e9)) return Html(kDash);
    return Html(seconds < 100 ? format_fixed(seconds, 1) + " s" : format_duration(seconds));
  };
}

Cell version_of(const std::string& part) {
  return [=](const RunView& run) {
    return dash_or(text_of(member(run.record.manifest, "versions"), part));
  };
}

Html state_cell(const RunView& run) {
  const std::string state = run.record.state();
  const bool is_known = state == "completed" || state == "stopped" || state == "failed" ||
                        state == "running" || state == "unfinished";
  Html cell = element("span", {{"class", "state " + (is_known ? state : "")}}, dash_or(state));
  if (state == "unfinished") {
    cell += Html(" no summary, and nobody is seen to work in the folder");
  }
  return cell;
}

Html steps_cell(const RunView& run) {
  const double steps = number_of(run.record.summary, "steps");
  return value_cell(std::isfinite(steps) ? steps : run.lines.last_step(), Unit::kNumber);
}

Html best_cell(const RunView& run) {
  const auto& samples = run.lines.samples("eval", "test_accuracy");
  const metrics::Sample* best = nullptr;
  for (const metrics::Sample& sample : samples) {
    if (std::isfinite(sample.value) && (best == nullptr || sample.value > best->value)) {
      best = &sample;
    }
  }
  if (best == nullptr) return Html(kDash);
  return value_cell(best->value, Unit::kAccuracy) + Html(" at step ") +
         value_cell(best->step, Unit::kNumber);
}

Html error_cell(const RunView& run) {
  const std::string error = text_of(run.record.summary, "error");
  return error.empty() ? Html(kDash) : paragraph_text(error, 1000);
}

Html weights_cell(const RunView& run) {
  return dash_or(text_of(run.record.summary, "weights_sha256").substr(0, 16));
}

using Lines = std::vector<std::pair<std::string, Cell>>;

// The most important lines: outcome, results, cost.
Lines first_lines() {
  return {{"state", state_cell},
          {"error", error_cell},
          {"test accuracy", number("test_accuracy", "eval", "test_accuracy", Unit::kAccuracy)},
          {"with test-time augmentation",
           number("test_accuracy_tta", "eval", "test_accuracy_tta", Unit::kAccuracy)},
          {"best test accuracy", best_cell},
          {"slowest rank", [](const RunView& run) { return dash_or(describe_slowest_rank(run)); }},
          {"images per second", number("images_per_second", "step", "images_per_second")},
          {"time of training", duration("train_seconds")},
          {"training loss", number("train_loss", "step", "loss")},
          {"test loss", number("test_loss", "eval", "test_loss")},
          {"steps", steps_cell},
          {"epochs", number("epochs", "", "")},
          {"ranks", [](const RunView& run) { return dash_or(describe_ranks(run)); }},
          {"model", [](const RunView& run) { return dash_or(run.record.option("model")); }},
          {"data set", [](const RunView& run) { return dash_or(describe_data(run)); }},
          {"started", [](const RunView& run) { return Html(format_time(run.record.started())); }}};
}

Lines other_lines() {
  return {{"time of evaluations", duration("evaluation_seconds")},
          {"time to the first step", duration("startup_seconds")},
          {"weights", weights_cell},
          {"tandem", version_of("tandem")},
          {"libtorch", version_of("libtorch")},
          {"folder", [](const RunView& run) { return Html(shortened(run.record.path)); }}};
}

// Without the lines in which no run has anything to say.
Html table_of(const Runs& runs, const Lines& lines) {
  std::vector<std::vector<Html>> rows{names_of(runs, "run")};
  for (const auto& [name, cell] : lines) {
    std::vector<Html> row{Html(name)};
    bool says_something = false;
    for (const RunView& run : runs) {
      row.push_back(cell(run));
      says_something = says_something || row.back().markup() != kDash;
    }
    if (says_something) rows.push_back(row);
  }
  return table(rows);
}

// The compared values by name: options, and versions and hardware that make runs differ.
std::vector<std::pair<std::string, std::string>> compared(const RunView& run) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [name, value] : run.record.config) {
    if (values.size() < kMaxOptions) values.emplace_back("--" + name, value);
  }
  values.emplace_back("data set", describe_data(run));
  values.emplace_back("ranks", describe_ranks(run));
  for (const char* part : {"tandem", "source", "libtorch", "mpi"}) {
    const Json& versions = member(run.record.manifest, "versions");
    values.emplace_back(std::string("version of ") + part, text_of(versions, part));
  }
  return values;
}

}  // namespace

Html summary_section(const Runs& runs) {
  return section("Summary", table_of(runs, first_lines()) +
                                element("details", element("summary", Html("Times, versions, "
                                                                           "folder")) +
                                                       table_of(runs, other_lines())));
}

Html differences_section(const Runs& runs) {
  if (runs.size() < 2) return {};
  std::vector<std::map<std::string, std::string>> values;
  std::vector<std::string> names;  // in the order of the first run that has them
  for (const RunView& run : runs) {
    const auto of_run = compared(run);
    values.emplace_back(of_run.begin(), of_run.end());
    for (const auto& [name, value] : of_run) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<std::vector<Html>> rows{names_of(runs, "what differs")};
  for (const std::string& name : names) {
    std::vector<Html> row{Html(shortened(name, 100))};
    bool differs = false;
    for (auto& of_run : values) {
      row.push_back(dash_or(of_run[name]));
      differs = differs || of_run[name] != values.front()[name];
    }
    if (differs) rows.push_back(row);
  }
  if (rows.size() == 1) {
    return section("Differences", element("p", Html("The runs have the same options, data set, "
                                                    "ranks and versions.")));
  }
  return section("Differences", table(rows));
}

}  // namespace tandem::report
