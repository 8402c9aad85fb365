#include <algorithm>

#include "sections.hpp"
#include "tandem/core/json_fields.hpp"
#include "tandem/core/text.hpp"

namespace tandem::report {

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
    content += element("p", Html(format_count(static_cast<std::int64_t>(run.lines.refused)) +
                                 " lines of metrics.jsonl are none of tandem's and are left out."));
  }
  const auto left_out = static_cast<std::int64_t>(run.lines.earlier_notes + first);
  if (left_out > 0) {
    content += element("p", Html(format_count(left_out) + " earlier ones are in metrics.jsonl."));
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
