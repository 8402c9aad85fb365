#include "run_closing.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include "plan.hpp"
#include "run_banner.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/metric_lines.hpp"
#include "tandem/train/schedule.hpp"

namespace tandem::app {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string accuracy_text(double accuracy) { return format_fixed(accuracy, 4); }

// "9", "0.25"
std::string epoch_number(double epoch) {
  const bool is_whole = std::abs(epoch - std::round(epoch)) < 1e-6;
  return format_fixed(epoch, is_whole ? 0 : 2);
}

void add_accuracy(const std::string& of, const std::optional<train::Evaluation>& last,
                  const metrics::BestEvaluation& best, Rows& rows) {
  if (!last) return;
  std::string text = accuracy_text(last->score());
  if (last->views_accuracy) {
    text += ", " + accuracy_text(*last->views_accuracy) + " with test-time augmentation";
  }
  if (best.of == of) {
    const bool is_last = best.accuracy <= last->score();
    text += is_last ? ", the best of the run"
                    : ", best " + accuracy_text(best.accuracy) + " after epoch " +
                          epoch_number(best.epoch);
  }
  rows.push_back({"  " + of + (last->mean_average_precision ? " mAP" : " accuracy"), text});
}

}  // namespace

std::string Closing::accounting() const {
  const std::uint64_t per_epoch =
      images_of_steps(config, arithmetic, image_count, arithmetic.steps_per_epoch);
  const std::uint64_t epochs = result.steps / arithmetic.steps_per_epoch;
  const std::uint64_t rest =
      images_of_steps(config, arithmetic, image_count, result.steps) - epochs * per_epoch;
  const std::string part = format_count(rest) + " of " + format_count(image_count) + " images";
  std::string text = format_quantity(result.steps, "step") + ", ";
  if (epochs == 0) return text + part + ", each exactly once";
  text += per_epoch == image_count
              ? "every image"
              : format_count(per_epoch) + " of " + format_count(image_count) + " images";
  text += " exactly once in ";
  text += (epochs == 1 ? "" : "each of ") + format_quantity(epochs, "epoch");
  return rest == 0 ? text : text + ", then " + part;
}

std::string Closing::text() const {
  const auto speed = static_cast<std::int64_t>(result.images_per_second);
  std::string head = (result.stopped ? "stopped: " : accounting() + "\n\ndone: ") +
                     format_quantity(result.steps, "step") + " in " +
                     format_fixed(result.train_seconds, 1) + " s" +
                     (speed > 0 ? ", " + format_count(speed) + " images/s" : "") + "; " + folder;
  Rows rows;
  if (result.stopped) {
    rows.push_back({"  stopped at", "epoch " + epoch_number(result.epochs) + ", step " +
                                        format_count(result.steps) + " of " +
                                        format_count(arithmetic.total_steps)});
  }
  if (result.ended_early) {
    rows.push_back({"  ended early", "epoch " + epoch_number(result.epochs) + " of " +
                                         format_real(config.epochs) + ", by --early-stop " +
                                         std::to_string(config.early_stop)});
  }
  add_accuracy("validation", result.last_validation, best, rows);
  add_accuracy("test", result.last_evaluation, best, rows);
  if (!model.empty()) rows.push_back({"  model", model});
  if (!report.empty()) rows.push_back({"  report", report});
  if (!command.empty()) rows.push_back({result.stopped ? "  go on" : "  evaluate", command});
  return rows.empty() ? head : head + "\n" + format_table(rows);
}

std::string describe_late_start(const RunRequest& run, double startup_seconds) {
  const double limit = run.train.checkpoint_policy.stop_after_seconds;
  if (limit == 0 || startup_seconds < limit) return "";
  return "--max-time " + run.options.text("max-time") + ": the start took " +
         format_fixed(startup_seconds, 1) + " s and --stop-margin keeps " +
         run.options.text("stop-margin") + " s, so no step was trained; fix: a longer --max-time";
}

std::string eval_command(const std::string& program, const std::string& data,
                         const std::string& folder) {
  return program + " eval --data " + shell_word(data) + " --checkpoint " + shell_word(folder);
}

std::string describe_complete(const std::string& folder, const Json& summary,
                              const train::TrainConfig& config,
                              const train::BatchArithmetic& arithmetic,
                              std::uint64_t schedule_steps) {
  const bool has_map = summary.contains("test_map");
  const double accuracy = number_of(summary, has_map ? "test_map" : "test_accuracy");
  const auto steps = static_cast<std::uint64_t>(number_of(summary, "steps"));
  const train::Schedule schedule(config.schedule, arithmetic.learning_rate,
                                 arithmetic.steps_per_epoch, schedule_steps);
  const bool has_ended =
      train::Schedule::depends_on_length(config.schedule) && schedule.at(steps) == 0;
  const std::string done =
      "The run " + folder + " is complete: " + format_quantity(steps, "step") +
      (std::isfinite(accuracy)
           ? (has_map ? ", test mAP " : ", test accuracy ") + accuracy_text(accuracy)
           : "") +
      ".\n";
  if (member(summary, "ended_early") == Json(true)) {
    return done + "It ended early, by --early-stop " + std::to_string(config.early_stop) +
           ". To go on with it, repeat the command with a larger one, or 0.";
  }
  const bool counts_steps = ends_at_max_steps(config, arithmetic);
  std::string more = counts_steps ? "--max-steps (now " + std::to_string(config.max_steps)
                                  : "--epochs (now " + format_real(config.epochs);
  if (steps > arithmetic.total_steps) {  // fewer were asked for than the run has done
    more += ", and the run has done " +
            (counts_steps ? std::to_string(steps) : epoch_number(arithmetic.epochs_of(steps)));
  }
  more += ')';
  return done + "To go on with it, repeat the command with more " + more +
         (has_ended ? " and --new-schedule: the rate of " + config.schedule.name + " has come to 0"
                    : "") +
         ".";
}

metrics::BestEvaluation best_of(const metrics::RunFolder& folder) {
  metrics::BestEvaluation best;
  if (!file_exists(folder.metrics_path())) return best;
  const metrics::MetricLines lines = metrics::read_metric_lines(folder.metrics_path());
  for (const char* of : {"validation", "test"}) {
    for (const char* score : {"_accuracy", "_map"}) {  // a run has one of both
      for (const metrics::Sample& sample : lines.samples("eval", std::string(of) + score)) {
        metrics::EvaluationRecord record;
        record.of = of;
        record.accuracy = sample.value;
        record.epoch = sample.epoch;
        best.take(record);
      }
    }
  }
  return best;
}

}  // namespace tandem::app
