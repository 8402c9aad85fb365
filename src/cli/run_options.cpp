// The options of `tandem train` that do not affect the arithmetic: reports and checkpoints.

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "train_options.hpp"

namespace tandem::app {
namespace {

constexpr double kSoonest = 0.01;  // seconds between two samples of the machine

// "HH:MM:SS", "MM:SS" or seconds.
double parse_time(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  std::int64_t highest = kMaxHours;  // of the first number, in its unit
  for (std::size_t i = parts.size(); i < 3; ++i) highest *= 60;
  double seconds = 0;
  try {
    for (const std::string& part : parts) {
      seconds = seconds * 60 + static_cast<double>(parse_integer(part, 0, highest, ""));
      highest = 59;
    }
  } catch (const UsageError&) {
    seconds = 0;
  }
  if (parts.size() > 3 || seconds == 0) {
    throw UsageError("--max-time: '" + text +
                     "' is not HH:MM:SS, MM:SS or seconds, above 0; 1 hour is 01:00:00");
  }
  return seconds;
}

// A word without '.' and '/' cannot be the path of a checkpoint.
void refuse_misspelled_mode(Options& options, const std::string& resume) {
  if (is_resume_mode(resume) || resume.find_first_of("./") != std::string::npos) return;
  options.choice("resume", {"auto", "none", "latest", "a checkpoint"});
}

}  // namespace

// Other programs call it "latest".
std::string normalized_resume(const std::string& text) { return text == "latest" ? "auto" : text; }

bool is_resume_mode(const std::string& text) {
  return text == "none" || normalized_resume(text) == "auto";
}

void read_reporting(Options& options, TrainReporting& reporting) {
  reporting.run_id = options.text("run-id");
  if (!reporting.run_id.empty()) {
    options.parsed("run-id", [](const std::string& id) {
      metrics::check_run_id(id);
      return 0;
    });
  }
  reporting.runs_dir = options.text("runs-dir");
  reporting.resume = normalized_resume(options.text("resume"));
  refuse_misspelled_mode(options, reporting.resume);
  reporting.new_schedule = options.flag("new-schedule");
  if (reporting.new_schedule && reporting.resume == "none") {
    options.add_fault("--new-schedule changes the schedule of a resumed run; add --resume auto");
  }
  reporting.max_stuck_starts = options.count("max-stuck-starts", 0, 1'000'000);
  reporting.quiet = options.flag("quiet");
  reporting.progress = options.flag("progress");
  reporting.log_ranks = options.parsed("log-ranks", RankChoice::parse);
  reporting.json = options.flag("json");
  reporting.print_config = options.flag("print-config");
  reporting.plan = options.flag("plan");
  if (options.is_set("profile")) {
    reporting.profile = options.parsed("profile", train::StepRange::parse);
  }
  reporting.views = options.flag("tta");
  reporting.histograms_every = options.count("histograms-every", 0, std::uint64_t{1} << 40);
  reporting.system_interval_seconds = options.real("system-interval", 0, kMaxReal);
  if (reporting.system_interval_seconds > 0 && reporting.system_interval_seconds < kSoonest) {
    options.add_fault("--system-interval: " + options.text("system-interval") +
                      " seconds would keep a CPU busy; give " + format_real(kSoonest) +
                      " or more, or 0 for never");
  }
}

void read_checkpoint_policy(Options& options, train::CheckpointPolicy& checkpoint_policy) {
  checkpoint_policy.checkpoint_every =
      options.parsed("checkpoint-every", train::CheckpointIntervals::parse);
  checkpoint_policy.keep.last = options.count("keep-checkpoints", 1, 1'000'000);
  checkpoint_policy.keep.every = options.count("keep-every", 0, std::uint64_t{1} << 40);
  checkpoint_policy.save_best = options.flag("save-best");
  checkpoint_policy.drift_check_every =
      options.count("drift-check-every", 0, std::uint64_t{1} << 40);
  checkpoint_policy.skip_nonfinite = options.choice("on-nonfinite") == "skip";
  const double margin = options.real("stop-margin", 0, kMaxReal);
  if (!options.is_set("max-time")) return;
  const double most = options.parsed("max-time", parse_time);
  checkpoint_policy.stop_after_seconds = most - margin;
  if (most > 0 && most <= margin) {
    options.add_fault("--max-time: leaves nothing after the --stop-margin of " +
                      format_real(margin) + " seconds; give more time, or a smaller margin");
  }
}

}  // namespace tandem::app
