#include "run_segments.hpp"

#include <limits>
#include <vector>

#include "cli/train_options.hpp"
#include "saved_options.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// A start from the same or an earlier step replaces all steps of this one.
std::vector<Json> contributing(const Json& segments) {
  std::vector<Json> kept;
  double earliest = std::numeric_limits<double>::infinity();
  for (auto each = segments.rbegin(); each != segments.rend(); ++each) {
    const double first_step = number_of(*each, "first_step");
    if (!(first_step < earliest)) continue;
    earliest = first_step;
    kept.push_back(*each);
  }
  return kept;
}

// Options that change the results or the end of the run.
bool matters(const OptionSpec& spec) {
  for (const char* group : {"reporting", "safekeeping"}) {
    if (spec.group == group) return false;
  }
  for (const char* limit : {"max-time", "stop-margin"}) {
    if (spec.name == limit) return false;
  }
  return spec.traits.config_file == ConfigFile::kWritten &&
         spec.traits.on_resume != OnResume::kComparedByEffect;
}

bool differ_in(const std::vector<Json>& segments, const OptionSpec& spec) {
  const std::string last = saved_value(member(segments.front(), "options"), spec);
  for (const Json& each : segments) {
    if (saved_value(member(each, "options"), spec) != last) return true;
  }
  return false;
}

}  // namespace

Json make_segment(const RunRequest& run, std::uint64_t first_step, std::uint64_t world,
                  std::uint64_t schedule_steps) {
  return {{"started", unix_seconds()},
          {"first_step", first_step},
          {"world_size", world},
          {"schedule_steps", schedule_steps},
          {"command_line", "tandem train " + join(run.words, " ")},
          {"options", options_of_ini(run.options)}};
}

std::uint64_t starts_from(const Json& segments, std::uint64_t step) {
  std::uint64_t count = 0;
  if (!segments.is_array()) return count;
  for (auto each = segments.rbegin(); each != segments.rend(); ++each) {
    if (number_of(*each, "first_step") != static_cast<double>(step)) break;
    ++count;
  }
  return count;
}

std::string describe_repetition(const OptionTable& table, const Json& segments) {
  const std::string repeats = "tandem train --config of this file repeats the run";
  const std::vector<Json> starts = contributing(segments);
  if (starts.size() < 2) return repeats + ".";
  const std::string count = std::to_string(starts.size()) + " starts";
  for (const Json& each : starts) {
    if (!member(each, "options").is_object()) {
      return "The run had " + count +
             ". Options of the earlier ones are not known, so this file,\n" +
             "which holds those of the last one, may not repeat the run.";
    }
  }
  std::vector<std::string> changed;
  for (const OptionSpec& spec : table) {
    if (matters(spec) && differ_in(starts, spec)) changed.push_back("--" + spec.name);
  }
  for (const Json& each : starts) {
    if (number_of(each, "world_size") == number_of(starts.front(), "world_size")) continue;
    changed.push_back("the number of ranks");
    break;
  }
  if (changed.empty()) return repeats + ", which had " + count + " with these options.";
  return "This file does not repeat the run, which had " + count +
         ". Between them changed: " + join(changed, ", ") +
         ".\nThe file holds the options of the last start; `segments` of " +
         "manifest.json those of each.";
}

}  // namespace tandem::app
