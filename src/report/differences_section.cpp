#include <algorithm>

#include "sections.hpp"
#include "tandem/core/json_fields.hpp"

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

std::string find(const std::vector<std::pair<std::string, std::string>>& values,
                 const std::string& name) {
  const auto is_it = [&](const auto& value) { return value.first == name; };
  const auto found = std::find_if(values.begin(), values.end(), is_it);
  return found == values.end() ? "" : found->second;
}

}  // namespace

Html differences_section(const Runs& runs) {
  if (runs.size() < 2) return {};
  std::vector<std::vector<std::pair<std::string, std::string>>> values;
  std::vector<std::string> names;  // in the order of the first run that has them
  for (const RunView& run : runs) {
    values.push_back(compared(run));
    for (const auto& [name, value] : values.back()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<std::vector<Html>> rows{names_of(runs, "what differs")};
  for (const std::string& name : names) {
    std::vector<Html> row{Html(shortened(name, 100))};
    bool differs = false;
    for (const auto& of_run : values) {
      row.push_back(dash_or(find(of_run, name)));
      differs = differs || find(of_run, name) != find(values.front(), name);
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
