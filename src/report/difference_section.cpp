// The differences of several runs, and warnings if their results are not comparable.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "chart.hpp"
#include "sections.hpp"
#include "tandem/core/json.hpp"

namespace tandem::report {
namespace {

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

// Whether `text_of_run` differs between runs.
template <typename TextOf>
bool differ(const Runs& runs, TextOf text_of_run) {
  std::set<std::string> texts;
  for (const RunView& run : runs) texts.insert(text_of_run(run));
  return texts.size() > 1;
}

}  // namespace

Html warn_of_unlike(const Runs& runs) {
  constexpr double kUnlike = 1.01;
  Html warnings;
  const auto warn = [&](const std::string& text) {
    warnings += element("p", {{"class", "warning"}}, Html(text));
  };
  double fewest = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const RunView& run : runs) {
    fewest = std::fmin(fewest, epochs_of(run));
    most = std::fmax(most, epochs_of(run));
  }
  if (most > kUnlike * fewest) {
    warn("The runs trained for " + format_value(fewest, Unit::kNumber) + " to " +
         format_value(most, Unit::kNumber) +
         " epochs. Compare curves at the same epoch or time; last values do not compare.");
  }
  if (differ(runs, describe_data)) {
    warn("The runs trained on different data sets. Their accuracies do not compare.");
  }
  const auto loss_of = [](const RunView& run) {
    return run.record.option("label-smoothing") + " " + run.record.option("augment");
  };
  if (differ(runs, loss_of)) {
    warn(
        "--label-smoothing or --augment differ. Training losses and training accuracies do not "
        "compare; those of the test images do.");
  }
  return warnings;
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
    return section(
        "Differences",
        element("p", Html("The runs have the same options, data set, ranks and versions.")));
  }
  return section("Differences", table(rows));
}

}  // namespace tandem::report
