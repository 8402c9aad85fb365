// The first answers of a report: accuracy, duration, and the cause of a slow run.
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "chart.hpp"
#include "sections.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::report {
namespace {

// Ranks of a busy host get fewer cores than they have threads, and other programs preempt them. A
// host without other work stays far from these limits.
constexpr double kBusyShare = 0.7;
constexpr double kForcedSwitches = 20;  // a second
constexpr double kHeldBackPercent = 10;

// The ranks of a host that compute on its CPUs.
struct HostWork {
  double ranks = 0;
  double cores = 0;    // that they had
  double threads = 0;  // that compute
  double forced_switches = 0;
  double held_back = 0;     // percent
  double all_programs = 0;  // percent of the host's CPUs; 0: not known

  double share() const { return cores / threads; }
};

double mean_of(const RankRow& row, const char* metric) {
  const auto found = row.mean.find(metric);
  return found == row.mean.end() ? 0 : found->second;
}

std::map<std::string, HostWork> work_by_host(const RunView& run) {
  std::map<std::string, HostWork> hosts;
  for (const RankRow& row : run.ranks.rows) {
    const std::string device = rank_text(run, row.rank, "device");
    if (row.mean.count("cpu_percent") == 0 || device != "cpu") continue;
    const double threads = number_of(
        member(run.record.manifest, "ranks")[static_cast<std::size_t>(row.rank)], "threads");
    HostWork& host = hosts[rank_text(run, row.rank, "host")];
    ++host.ranks;
    host.cores += mean_of(row, "cpu_percent") / 100;
    host.threads += threads >= 1 ? threads : 1;
    host.forced_switches += mean_of(row, "forced_switches_per_second");
    host.held_back += mean_of(row, "throttled_percent");
    host.all_programs += mean_of(row, "host_cpu_percent");
  }
  return hosts;
}

std::string describe_cores(const HostWork& host) {
  const double threads = std::round(host.threads / host.ranks);
  return format_fixed(host.cores / host.ranks, 2) + " of " +
         (threads > 1 ? format_fixed(threads, 0) + " cores each" : "a core each");
}

// `style`: of the value, which is a number or words.
Html tile(const std::string& name, const std::string& style, const Html& value, const Html& more) {
  return element("div", {{"class", "tile"}},
                 Html(name) + element("strong", {{"class", style}}, value) + element("p", more));
}

Html accuracy_tile(const RunView& run) {
  for (const std::string& of : std::vector<std::string>{"test", "validation"}) {
    const bool has_map = std::isfinite(result_of(run, of + "_map", "eval"));
    const std::string field = of + (has_map ? "_map" : "_accuracy");
    const std::string name = has_map ? "mAP" : "accuracy";
    const double accuracy = result_of(run, field, "eval");
    if (!std::isfinite(accuracy)) continue;
    Html more =
        Html(of + " loss ") + value_cell(result_of(run, of + "_loss", "eval"), Unit::kNumber);
    const metrics::Sample* best = best_evaluation(run, field);
    if (best != nullptr && best->value > accuracy) {
      more += Html("; best " + name + " " + format_value(best->value, Unit::kAccuracy) +
                   " at step " + format_value(best->step, Unit::kNumber));
    }
    return tile(of + " " + name, "number", value_cell(accuracy, Unit::kAccuracy), more);
  }
  const double accuracy = run.lines.last("step", "accuracy");
  return tile("training accuracy", "number", value_cell(accuracy, Unit::kAccuracy),
              Html("of the last steps; the run was not evaluated"));
}

Html time_tile(const RunView& run) {
  double seconds = number_of(run.record.summary, "train_seconds");
  if (!std::isfinite(seconds)) seconds = run.timeline.worked();
  const double epochs = epochs_of(run);
  const double speed = result_of(run, "images_per_second", "step");
  std::string more = format_value(steps_of(run), Unit::kNumber) + " steps";
  if (std::isfinite(epochs)) more += ", " + format_value(epochs, Unit::kNumber) + " epochs";
  if (std::isfinite(speed)) more += "; " + format_value(speed, Unit::kNumber) + " images/s";
  return tile("time of training", "number", value_cell(seconds, Unit::kDuration), Html(more));
}

Html rank_tile(const RunView& run) {
  const std::string host = describe_busy_host(run);
  const std::string slowest = describe_slowest_rank(run);
  const Html more = slowest.empty() ? Html() : Html("slowest rank: " + slowest);
  if (!host.empty()) return tile("cause of delay", "words", Html(host), more);
  const bool stands_out = !slowest.empty() && !begins_with(slowest, "none");
  if (stands_out) return tile("slowest rank", "words", Html(slowest), {});
  return tile("ranks", "words", dash_or(describe_ranks(run)), more);
}

}  // namespace

std::string describe_busy_host(const RunView& run) {
  std::string text;
  double least = std::numeric_limits<double>::infinity();
  const auto hosts = work_by_host(run);
  for (const auto& [name, host] : hosts) {
    const bool is_busy =
        host.share() < kBusyShare && host.forced_switches / host.ranks >= kForcedSwitches;
    const double held_back = host.held_back / host.ranks;
    if ((!is_busy && held_back < kHeldBackPercent) || host.share() >= least) continue;
    least = host.share();
    const std::string of = hosts.size() == 1 ? "the host" : shortened(name, 80);
    text = held_back >= kHeldBackPercent
               ? "a CPU limit of " + of + " held ranks back " + format_fixed(held_back, 0) +
                     " % of the time: they had " + describe_cores(host)
               : of + " is busy: ranks had " + describe_cores(host);
    if (host.all_programs > 0) {
      text += "; all programs used " + format_fixed(host.all_programs / host.ranks, 0) +
              " % of its CPUs";
    }
  }
  return text;
}

Html headline_section(const RunView& run) {
  const std::string error = text_of(run.record.summary, "error");
  const Html failure =
      error.empty() ? Html() : element("p", {{"class", "warning"}}, paragraph_text(error, 1000));
  const Html facts = Html("model ") + dash_or(run.record.option("model")) + Html("; data ") +
                     dash_or(describe_data(run)) + Html("; ") + dash_or(describe_ranks(run)) +
                     Html("; started ") + Html(format_time(run.record.started()));
  return failure +
         element("div", {{"class", "tiles"}},
                 accuracy_tile(run) + time_tile(run) + rank_tile(run)) +
         element("p", facts);
}

}  // namespace tandem::report
