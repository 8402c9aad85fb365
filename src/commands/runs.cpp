// tandem runs: the runs of a folder as a table.
#include <algorithm>

#include "commands.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/report/run_table.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kWidth = 100;

void explain_unfinished(const std::vector<Json>& rows) {
  const auto count = std::count_if(rows.begin(), rows.end(),
                                   [](const Json& row) { return row.at("state") == "unfinished"; });
  if (count == 0) return;
  print_note(format_quantity(count, "run") +
             " unfinished: no process works there; resume one by its command with its --run-id "
             "and --resume auto");
}

int run_runs(const Arguments& arguments) {
  Options options = resolve_alone(runs_command(), arguments, true);
  const bool json = options.flag("json");
  const bool csv = options.flag("csv");
  const bool is_descending = options.flag("descending");
  const std::string column = options.choice("sort");
  if (json && csv) options.add_fault("--json and --csv are two forms; one is expected");
  if (options.positional().size() > 1) {
    options.add_fault("one DIR is expected, and " + std::to_string(options.positional().size()) +
                      " were given");
  }
  options.throw_faults("runs");

  const std::string folder =
      options.positional().empty() ? options.text("runs-dir") : options.positional().front();
  report::RunList runs = report::list_runs(folder);
  for (const std::string& fault : runs.faults) print_warning(fault);
  report::sort_runs(runs.rows, column, is_descending);
  if (csv) {
    print_bytes(report::to_csv(runs.rows));
  } else if (json) {
    // ASCII, because print_line() escapes control characters in a form that JSON lacks.
    for (const Json& row : runs.rows) print_line(dump_as_ascii(row));
  } else {
    print_line(format_table(report::to_short_cells(runs.rows, kWidth)));
    if (runs.rows.empty()) print_note(folder + ": holds no run");
    explain_unfinished(runs.rows);
  }
  return 0;
}

}  // namespace

Command runs_command() {
  return {"runs",
          "[DIR] [options]",
          "list the runs of a folder",
          "tandem runs --sort test_accuracy --descending",
          {{"runs-dir", "DIR", "runs", "where run folders are, unless DIR says so", "input"},
           {"sort",
            "COLUMN",
            "started",
            join(report::run_columns(), ", "),
            "output",
            {},
            report::run_columns()},
           {"descending", "", "false", "the highest, or the newest, first", "output"},
           {"json", "", "false", "one JSON object a line on standard output", "output"},
           {"csv", "", "false", "for a spreadsheet, on standard output", "output"}},
          run_runs,
          nullptr};
}

}  // namespace tandem::app
