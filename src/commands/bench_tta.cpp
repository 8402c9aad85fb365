// tandem bench tta: time to accuracy. Trains with several seeds, and prints how soon the
// runs reach an accuracy, how many do, the confidence intervals, and the p-value of a mean accuracy
// above the target.
#include "bench_form.hpp"
#include "cli/train_options.hpp"
#include "commands.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "time_to_accuracy.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxRuns = 1000;

struct AccuracyRequest {
  double target = 0;
  std::uint64_t runs = 0;
  bool json = false;
  // The seed of the first run, as `train` parses it.
  std::uint64_t first_seed = 0;
  std::string runs_dir;
  std::string run_id;  // each run's own number follows
};

AccuracyRequest read_accuracy_request(Options& options) {
  AccuracyRequest request;
  request.target = options.real("target", 0, 1);
  request.runs = options.count("runs", 1, kMaxRuns);
  request.json = options.flag("json");
  options.throw_faults("bench");
  return request;
}

// Parses the options that all runs share, so that a wrong one is refused before the first run.
void read_words_of_runs(Job& job, const Arguments& words, AccuracyRequest& request) {
  Options options = resolve_together(job, "train", train_option_table(), words);
  TrainRequest train;
  comm::agree(job.world, [&] {
    constexpr char kWhole[] =
        "bench tta: each run is trained from its beginning to its end; leave out --resume, "
        "--new-schedule, --plan and --print-config";
    if (options.faults().empty() && !options.is_set("data")) {
      options.add_fault("--data is missing; give options of train after the word --", "data");
    }
    // Before `train` advises to add --resume auto.
    if (options.flag("new-schedule")) throw UsageError(kWhole);
    train = read_train_options(options);
    if (train.reporting.resume != "none" || train.reporting.plan || train.reporting.print_config) {
      throw UsageError(kWhole);
    }
    if (train.config.eval_every == 0) {
      throw UsageError("bench tta: --eval-every 0 would leave nothing to compare; leave it out");
    }
    if (train.config.validation_split > 0) {
      throw UsageError(
          "bench tta: with --validation-split the test images are evaluated only at the end, so "
          "the time to the target cannot be measured; leave it out");
    }
  });
  request.first_seed = train.config.seed;
  request.runs_dir = train.reporting.runs_dir;
  request.run_id = train.reporting.run_id;
  if (request.run_id.empty()) {
    request.run_id = job.world.broadcast_string(job.is_root() ? metrics::make_run_id() : "");
  }
}

std::string run_id_of(const AccuracyRequest& request, std::uint64_t run) {
  return request.run_id + "-" + std::to_string(request.first_seed + run);
}

// Before the first run, and without the advice to resume it that `train` gives.
void refuse_folders_of_earlier_runs(const AccuracyRequest& request) {
  for (std::uint64_t run = 0; run < request.runs; ++run) {
    const std::string path = request.runs_dir + "/" + run_id_of(request, run);
    if (!output_exists(path)) continue;
    throw CannotCreateError("bench tta: " + path +
                            " exists already, and nothing was changed; choose another --run-id");
  }
}

std::string result_of(const TimedRun& run) {
  const auto number = [](std::optional<double> value, int digits) {
    return value ? format_fixed(*value, digits) : std::string("-");
  };
  return "seed " + std::to_string(run.seed) + ": accuracy " + format_fixed(run.accuracy, 4) +
         ", with several views " + number(run.accuracy_tta, 4) + "; target after " +
         number(run.seconds_to_target, 2) + " s of " + format_fixed(run.train_seconds, 2) + " s";
}

// On rank 0.
void print_series(const AccuracyRequest& request, const std::vector<TimedRun>& runs) {
  std::vector<double> seconds, later_seconds, accuracies, views;
  Json rows = Json::array();
  for (const TimedRun& run : runs) {
    if (run.seconds_to_target) {
      seconds.push_back(*run.seconds_to_target);
      if (&run != &runs.front()) later_seconds.push_back(*run.seconds_to_target);
    }
    accuracies.push_back(run.accuracy);
    if (run.accuracy_tta) views.push_back(*run.accuracy_tta);
    rows.push_back(
        {{"run_id", run.run_id},
         {"seed", run.seed},
         {"train_seconds", run.train_seconds},
         {"seconds_to_target",
          run.seconds_to_target ? Json(*run.seconds_to_target) : Json(nullptr)},
         {"test_accuracy", run.accuracy},
         {"test_accuracy_tta", run.accuracy_tta ? Json(*run.accuracy_tta) : Json(nullptr)}});
  }
  // With test-time augmentation its accuracy counts, as for a single run.
  const std::optional<double> p = p_above(views.empty() ? accuracies : views, request.target);
  const double passed = static_cast<double>(seconds.size()) / static_cast<double>(runs.size());
  if (request.json) {
    print_line(Json{
        {"form", "tta"},
        {"target", request.target},
        {"pass_rate", passed},
        {"p_above_target", p ? Json(*p) : Json(nullptr)},
        {"seconds_to_target", to_json(seconds)},
        {"seconds_to_target_after_first_run", to_json(later_seconds)},
        {"test_accuracy", to_json(accuracies)},
        {"test_accuracy_tta", to_json(views)},
        {"runs",
         rows}}.dump());
    return;
  }
  print_line(std::to_string(seconds.size()) + " of " + std::to_string(runs.size()) +
             " runs reached " + format_real(request.target) + " (" + format_fixed(100 * passed, 0) +
             " %); means, and their 95 % intervals:\n" +
             format_table({{"seconds of steps to the target", to_text(seconds, 2)},
                           {"the same without the first run", to_text(later_seconds, 2)},
                           {"accuracy", to_text(accuracies, 4)},
                           {"accuracy with several views", to_text(views, 4)},
                           {"p-value of a mean above the target, one-sided t-test",
                            p ? format_fixed(*p, 4) : "-"}}));
}

int run_bench_tta(Job& job, Options& options, const Arguments& words) {
  AccuracyRequest request;
  comm::agree(job.world, [&] { request = read_accuracy_request(options); });
  read_words_of_runs(job, words, request);
  comm::agree_on_rank_0(job.world, [&] { refuse_folders_of_earlier_runs(request); });
  job.has_several_runs = true;
  std::vector<TimedRun> runs;  // on rank 0
  for (std::uint64_t i = 0; i < request.runs; ++i) {
    const std::uint64_t seed = request.first_seed + i;
    const std::string run_id = run_id_of(request, i);
    Arguments arguments = words;
    arguments.insert(arguments.end(),
                     {"--seed", std::to_string(seed), "--run-id", run_id, "--quiet", "--no-json"});
    const int code = train_command().run_in_job(job, arguments);
    if (code != 0) return code;
    comm::agree_on_rank_0(job.world, [&] {
      runs.push_back(
          time_run(metrics::read_run(request.runs_dir + "/" + run_id), seed, request.target));
      if (!request.json) print_line(result_of(runs.back()));
    });
  }
  comm::agree_on_rank_0(job.world, [&] { print_series(request, runs); });
  return 0;
}

}  // namespace

BenchForm bench_tta_form() {
  return {"tta",
          {{"target", "X", "0.9", "test accuracy to reach", "tta"},
           {"runs", "N", "3", "with the seeds from that of --seed on", "tta"},
           bench_json_option()},
          run_bench_tta,
          true};
}

}  // namespace tandem::app
