// tandem report: one page of one run, or of several side by side.
#include <filesystem>

#include "commands.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/mark.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/report/page.hpp"

namespace tandem::app {
namespace {

// In the folder of a single run, where train also writes its page.
std::string default_output(const std::vector<std::string>& folders) {
  constexpr char kPage[] = "report.html";
  if (folders.size() != 1) return kPage;
  return (std::filesystem::path(folders.front()) / kPage).string();
}

int run_report(const Arguments& arguments) {
  Options options = resolve_alone(report_command(), arguments, true);
  const std::vector<std::string>& folders = options.positional();
  const std::string output =
      options.is_set("output") ? options.text("output") : default_output(folders);
  if (!ends_with(output, ".html")) {
    options.add_fault("--output: '" + output + "' does not end in .html");
  }
  if (folders.empty()) options.add_fault("RUN_DIR is missing");
  if (folders.size() > report::kMaxRuns) {
    options.add_fault(std::to_string(folders.size()) + " runs are too many for a page; at most " +
                      std::to_string(report::kMaxRuns));
  }
  const bool replaces_any_file = options.flag("force");
  options.throw_faults("report");
  if (!replaces_any_file) require_replaceable(output);
  report::write_report(folders, output);
  show_line(std::filesystem::absolute(output).lexically_normal().string());
  return 0;
}

}  // namespace

Command report_command() {
  return {
      "report",
      "RUN_DIR... [options]",
      "show runs as one page: curves, ranks, answers, differences",
      "tandem report runs/demo --output demo.html",
      {{"output", "FILE.html", "",
        "the page, which needs nothing beside it; if not given: RUN_DIR/report.html, of several "
        "runs report.html",
        "output"},
       {"force", "", "false", "replace also a file that tandem did not write", "output"}},
      run_report,
      nullptr};
}

}  // namespace tandem::app
