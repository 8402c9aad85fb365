// tandem report: one page of one run, or of several side by side.
#include "commands.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/report/page.hpp"

namespace tandem::app {
namespace {

int run_report(const Arguments& arguments) {
  Options options = resolve_alone(report_command(), arguments, true);
  options.require("output");
  const std::string output = options.text("output");
  if (!output.empty() && !ends_with(output, ".html")) {
    options.add_fault("--output: '" + output + "' does not end in .html");
  }
  const std::vector<std::string>& folders = options.positional();
  if (folders.empty()) options.add_fault("RUN_DIR is missing");
  if (folders.size() > report::kMaxRuns) {
    options.add_fault(std::to_string(folders.size()) + " runs are too many for a page; at most " +
                      std::to_string(report::kMaxRuns));
  }
  options.throw_faults("report");
  report::write_report(folders, output);
  show_line(output);
  return 0;
}

}  // namespace

Command report_command() {
  return {"report",
          "RUN_DIR... --output FILE.html",
          "show runs as one page: curves, ranks, answers, differences",
          "tandem report runs/demo --output demo.html",
          {{"output", "FILE.html", "", "the page, which needs nothing beside it", "output"}},
          run_report,
          nullptr};
}

}  // namespace tandem::app
