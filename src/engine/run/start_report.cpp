#include "start_report.hpp"

#include <vector>

#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

std::string killed_text(const RunStart& start) {
  return "the run was killed at step " + std::to_string(*start.killed_after) + " or later";
}

// Lines of 80 columns. The first part is not cut, so that it can be searched for.
std::string fold_after_first(const std::vector<std::string>& parts) {
  std::vector<std::string> words{parts.front()};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    words.back() += ';';
    for (const std::string& word : split(parts[i], ' ')) words.push_back(word);
  }
  return fold(words);
}

}  // namespace

std::string describe_nothing_found(const RunStart& start) {
  std::string text = "nothing to resume in " + start.path() + ": starting at step 0";
  if (start.killed_after) text += "; " + killed_text(start) + ", before its first checkpoint";
  if (start.similar_run) text += "; did you mean --run-id " + *start.similar_run + "?";
  return text;
}

std::string describe_surplus(const RunStart& start, std::uint64_t total_steps) {
  if (start.state.step <= total_steps) return "";
  return "the run has done " + format_quantity(start.state.step, "step") + ", and " +
         std::to_string(total_steps) + " are asked for: nothing is left to train";
}

void report_start(const RunStart& start, const RunInputs& inputs, const ComputeSetup& setup,
                  const metrics::Sinks& sinks, bool quiet) {
  if (!start.refused.empty()) print_warning("checkpoints were refused:\n  " + start.refused);
  if (!start.resumes) {
    if (start.is_auto && !quiet) show_line(describe_nothing_found(start));
    return;
  }
  const double epoch = inputs.arithmetic.epochs_of(start.state.step);
  std::vector<std::string> parts{"resumed from " + start.checkpoint_path + ": step " +
                                 std::to_string(start.state.step) + ", epoch " +
                                 format_fixed(epoch, 2)};
  const std::string changes =
      describe_change(start.checkpoint->metadata, setup, start.global_batch);
  const std::string killed = start.killed_after ? killed_text(start) : "";
  for (const std::string& more :
       {changes, killed, describe_surplus(start, inputs.arithmetic.total_steps),
        inputs.schedule.note}) {
    if (!more.empty()) parts.push_back(more);
  }
  if (!quiet) show_line(fold_after_first(parts));
  for (const auto& sink : sinks) {
    sink->on_note({"resume", start.state.step, epoch, join(parts, "; ")});
  }
}

}  // namespace tandem::app
