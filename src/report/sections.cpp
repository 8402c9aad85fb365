#include "sections.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/straggler.hpp"

namespace tandem::report {

Html section(const std::string& title, const Html& content) {
  if (content.empty()) return {};
  return element("section", element("h2", Html(title)) + content);
}

Html value_cell(double value, Unit unit) {
  return Html(std::isnan(value) ? kDash : format_value(value, unit));
}

std::string format_time(double unix_seconds) {
  const std::string text = format_utc(unix_seconds, "%Y-%m-%d %H:%M:%S UTC");
  return text.empty() ? kDash : text;
}

Html dash_or(const std::string& text) { return Html(text.empty() ? kDash : shortened(text)); }

std::vector<Html> names_of(const Runs& runs, const std::string& first) {
  std::vector<Html> row{Html(first)};
  for (const RunView& run : runs) row.push_back(Html(shortened(run.name, 80)));
  return row;
}

std::string describe_ranks(const RunView& run) {
  std::set<std::string> hosts;
  const Json& ranks = member(run.record.manifest, "ranks");
  if (!ranks.is_array()) return "";
  for (const Json& rank : ranks) hosts.insert(text_of(rank, "host"));
  const std::string count = format_quantity(ranks.size(), "rank");
  return hosts.size() == 1 ? count + " on " + *hosts.begin()
                           : count + " on " + std::to_string(hosts.size()) + " hosts";
}

std::string describe_data(const RunView& run) {
  const Json& data = member(run.record.manifest, "data");
  const std::string digest = text_of(data, "digest");
  return text_of(data, "name") + (digest.empty() ? "" : ", digest " + digest.substr(0, 16));
}

std::string rank_text(const RunView& run, int rank, const char* field) {
  const Json& ranks = member(run.record.manifest, "ranks");
  const auto at = static_cast<std::size_t>(rank);
  return ranks.is_array() && at < ranks.size() ? text_of(ranks[at], field) : "";
}

std::string describe_slowest_rank(const RunView& run) {
  std::vector<metrics::RankRecord> ranks;
  for (const RankRow& row : run.ranks.rows) {
    metrics::RankRecord rank;
    rank.data_seconds = row.data_seconds;
    rank.compute_seconds = row.compute_seconds;
    rank.step_seconds = row.step_seconds;
    if (!std::isfinite(rank.data_seconds + rank.compute_seconds + rank.step_seconds)) return "";
    ranks.push_back(rank);
  }
  const auto slowest = metrics::find_straggler(ranks);
  if (!slowest) return "";
  const int rank = run.ranks.rows[static_cast<std::size_t>(slowest->rank)].rank;
  const std::string host = rank_text(run, rank, "host");
  const std::string name =
      "rank " + std::to_string(rank) + (host.empty() ? "" : " on " + shortened(host, 80));
  const std::string by = format_value(slowest->seconds, Unit::kSeconds) + " a step (" +
                         format_fixed(100 * slowest->share, 0) + " %)";
  if (!slowest->is_notable()) return "none is slow; the last is " + name + ", by " + by;
  return name + ": +" + by + " in " + (slowest->is_in_data ? "data" : "compute") +
         "; the others wait for it";
}

Html notes_section(const RunView& run, std::size_t runs) {
  constexpr std::size_t kMaxOnPage = 100;
  const std::size_t most = std::max<std::size_t>(5, kMaxOnPage / runs);
  std::vector<std::vector<Html>> rows{{Html("step"), Html("time"), Html("event"), Html("text")}};
  const auto& notes = run.lines.notes;
  const std::size_t first = notes.size() - std::min(notes.size(), most);
  for (std::size_t i = first; i < notes.size(); ++i) {
    rows.push_back({value_cell(notes[i].step, Unit::kNumber), Html(format_time(notes[i].time)),
                    Html(shortened(notes[i].event, 40)), paragraph_text(notes[i].text, 500)});
  }
  Html content;
  for (const std::string& fault : run.record.faults) content += element("p", paragraph_text(fault));
  for (const std::string& fault : run.ranks.faults) content += element("p", paragraph_text(fault));
  if (run.lines.refused > 0) {
    content += element("p", Html("Left out: " + format_quantity(run.lines.refused, "line") +
                                 " of metrics.jsonl that tandem did not write."));
  }
  const auto left_out = static_cast<std::int64_t>(run.lines.earlier_notes + first);
  if (left_out > 0) {
    content += element(
        "p", Html("Only in metrics.jsonl: " + format_quantity(left_out, "earlier event") + "."));
  }
  if (rows.size() > 1) content += table(rows);
  return section("Events", content);
}

Html options_section(const RunView& run) {
  std::vector<std::vector<Html>> rows{{Html("option"), Html("value")}};
  for (const auto& [name, value] : run.record.config) {
    if (rows.size() > kMaxOptions) break;
    rows.push_back({Html(shortened(name, 100)), Html(shortened(value))});
  }
  Html content;
  const std::string line = text_of(run.record.manifest, "command_line");
  if (!line.empty()) {
    content += element("p", Html("Started as ") + element("code", paragraph_text(line)));
  }
  if (rows.size() > 1) {
    content += element("details", element("summary", Html("Every option")) + table(rows));
  }
  return section("Options", content);
}

}  // namespace tandem::report
