// A training run from a request to its summary. TrainRun::run() names what happens, in order.
#include <filesystem>
#include <optional>

#include "cli/resume_command.hpp"
#include "diagnose/start_checks.hpp"
#include "engine/entry.hpp"
#include "kept_choices.hpp"
#include "resume_check.hpp"
#include "run_banner.hpp"
#include "run_closing.hpp"
#include "run_console.hpp"
#include "run_inputs.hpp"
#include "run_outcome.hpp"
#include "run_report.hpp"
#include "run_segments.hpp"
#include "run_sinks.hpp"
#include "run_start.hpp"
#include "start_report.hpp"
#include "step_recording.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/system_sampler.hpp"
#include "tandem/train/checkpoint_manager.hpp"
#include "tandem/train/step_profiler.hpp"
#include "training_session.hpp"
#include "training_setup.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kWorstImages = 24;  // shown on the page

class TrainRun {
 public:
  TrainRun(Job& job, RunRequest& run)
      : job_(job),
        run_(run),
        reporting_(run.train.reporting),
        heartbeats_(job.supervision().heartbeats()),
        console_(job, reporting_) {}

  int run() {
    RunStart start = reporting_.plan ? RunStart() : find_start(job_, run_, touch_);
    keep_choices(job_, start, run_);
    const RunDevice device = open_run_device(job_, run_.train);
    StepRecording recording(run_, device);
    const RunInputs inputs(job_, run_, start, device, touch_);
    if (is_complete(start, inputs)) return static_cast<int>(ExitCode::kDone);
    require_progress(job_, start, reporting_.max_stuck_starts);
    owe_last_evaluation(job_, start, run_.train.config,
                        start.end(run_.train.config, inputs.arithmetic.total_steps),
                        reporting_.views);
    TrainingSession session(job_, run_, start, inputs, device);
    if (reporting_.plan) {
      session.print_forecast(job_, run_, inputs, touch_);
      return static_cast<int>(ExitCode::kDone);
    }
    const RankTable ranks = make_rank_table(job_, device.threads, device.choice.devices);
    announce(start, inputs, session, device, ranks);
    open_output(start, inputs, session, device, ranks);
    train::CheckpointManager checkpoints = manage_checkpoints(start, inputs, session);
    train::StepContext step = session.step();
    const std::unique_ptr<train::RecordedSteps> recorded = recording.steps_of(job_, session);
    step.recorded = recorded.get();
    if (!recording.why_not().empty() && !reporting_.quiet && job_.is_root()) {
      show_line("steps are not recorded as a CUDA graph: " + recording.why_not());
    }
    const RunOutcome outcome = train(start, inputs, session, device, step, checkpoints);
    return finish(outcome, inputs, session);
  }

 private:
  bool is_complete(const RunStart& start, const RunInputs& inputs);
  void announce(const RunStart& start, const RunInputs& inputs, const TrainingSession& session,
                const RunDevice& device, const RankTable& ranks);
  void open_output(RunStart& start, const RunInputs& inputs, TrainingSession& session,
                   const RunDevice& device, const RankTable& ranks);
  train::CheckpointManager manage_checkpoints(const RunStart& start, const RunInputs& inputs,
                                              TrainingSession& session);
  RunOutcome train(const RunStart& start, const RunInputs& inputs, TrainingSession& session,
                   const RunDevice& device, const train::StepContext& step,
                   train::CheckpointManager& checkpoints);
  int finish(const RunOutcome& outcome, const RunInputs& inputs, TrainingSession& session);
  std::string describe_end(const RunOutcome& outcome, const RunInputs& inputs) const;  // rank 0

  Job& job_;
  RunRequest& run_;
  const TrainReporting& reporting_;
  comm::HeartbeatTable& heartbeats_;
  const Touch touch_ = [this] { heartbeats_.touch(); };
  const RunConsole console_;
  // On rank 0.
  std::optional<metrics::RunFolder> folder_;
  metrics::BestEvaluation best_;
  EvaluationCount evaluation_;
  metrics::Sinks sinks_;                 // use best_ and evaluation_
  std::optional<double> best_accuracy_;  // of an earlier start's best.safetensors
};

// Prints the summary of a run that has no step left to do.
bool TrainRun::is_complete(const RunStart& start, const RunInputs& inputs) {
  const auto summary =
      summary_if_complete(job_, start, start.end(run_.train.config, inputs.arithmetic.total_steps));
  if (!summary) return false;
  comm::agree_on_rank_0(job_.world, [&] {
    if (reporting_.json) return print_line_in_time(summary->dump());
    if (reporting_.quiet) return;
    const std::string surplus = describe_surplus(start, inputs.arithmetic.total_steps);
    show_line(summary->dump(2) + "\n" +
              describe_complete(start.folder->path(), *summary, run_.train.config,
                                inputs.arithmetic, inputs.schedule.steps) +
              (surplus.empty() ? "" : "\n" + surplus));
  });
  return true;
}

void TrainRun::announce(const RunStart& start, const RunInputs& inputs,
                        const TrainingSession& session, const RunDevice& device,
                        const RankTable& ranks) {
  RankFacts facts = look_at_start(job_, device.threads);
  const auto& gpu = device.choice.mine.gpu;
  facts.drives_gpu = gpu.has_value();
  const bool is_sampled = gpu && reporting_.system_interval_seconds > 0;
  if (is_sampled) facts.nvml_error = metrics::why_gpu_is_silent(gpu->bus_id);
  warn_of_start(job_, facts);
  warn_of_length(job_, run_.train.config, inputs);
  if (reporting_.quiet || !job_.is_root()) return;
  show_line(Banner{run_, inputs, ranks, start.run_id, session.arena.parameter_count(),
                   session.describe_exchange(), session.frozen_parameters(), session.initial.taken}
                .text());
  if (!device.choice.note.empty()) show_line(fold(device.choice.note) + "\n");
}

// Collective. Opens the run folder and its sinks on rank 0.
void TrainRun::open_output(RunStart& start, const RunInputs& inputs, TrainingSession& session,
                           const RunDevice& device, const RankTable& ranks) {
  open_run(job_, folder_, start.state.result, [&] {
    folder_ = open_folder(start);
    if (inputs.description.is_script()) folder_->write_network(inputs.network_file.bytes);
    const Json segment =
        make_segment(run_, start.state.step, ranks.ranks.size(), inputs.schedule.steps);
    const Json manifest =
        make_manifest(folder_->run_id(), inputs.images, ranks, segment, folder_->read_manifest());
    folder_->write_config(
        to_ini(run_.options, describe_repetition(run_.options.table(), manifest.at("segments"))));
    folder_->write_manifest(manifest);
    metrics::ConsoleSettings seen =
        console_.settings(job_.supervision().hosts(), device.choice.devices);
    show_totals(run_.train.config, inputs.arithmetic, inputs.image_count, seen);
    seen.position = [this, first = start.state.step] {
      return position_on(heartbeats_, first, evaluation_);
    };
    if (start.resumes) best_ = best_of(*folder_);
    seen.best = &best_;
    sinks_ = make_sinks(
        *folder_,
        {folder_->tensorboard_path(), folder_->run_id(), start.state.step,
         reporting_.histograms_every, visit_weights_of(session.arena), print_warning},
        [&] {
          return describe_for_tensorboard(run_.options, text_of(segment, "command_line"),
                                          inputs.images, inputs.arithmetic, ranks);
        },
        std::move(seen));
    if (run_.train.checkpoint_policy.save_best) {
      best_accuracy_ = train::CheckpointStore(folder_->checkpoints_path(), touch_).best_accuracy();
    }
    report_start(start, inputs, session.setup, sinks_, reporting_.quiet);
  });
}

train::CheckpointManager TrainRun::manage_checkpoints(const RunStart& start,
                                                      const RunInputs& inputs,
                                                      TrainingSession& session) {
  std::function<std::vector<model::NamedTensor>()> more_state;
  if (const train::PowerSgdAllReduce* const sums = session.transport.power_sgd()) {
    more_state = [this, sums] { return sums->gather_state(job_.world); };
  }
  return {{job_.world, *session.network, session.arena, *session.optimizer, more_state},
          run_.train.checkpoint_policy,
          boundary_rules_of(run_, inputs.arithmetic, session.plan, session.arena.device()),
          metadata_to_save(run_, inputs, session.setup),
          {folder_ ? &*folder_ : nullptr, &inputs.images, inputs.description.fit, sinks_, touch_},
          {best_accuracy_, start.resumes ? std::make_optional(start.state) : std::nullopt}};
}

RunOutcome TrainRun::train(const RunStart& start, const RunInputs& inputs, TrainingSession& session,
                           const RunDevice& device, const train::StepContext& step,
                           train::CheckpointManager& checkpoints) {
  const train::TrainConfig& config = run_.train.config;
  const auto between_batches = [&](double seconds) {
    heartbeats_.touch();
    return checkpoints.must_stop_within(seconds);
  };
  train::EvaluationSettings settings{session.transform,
                                     config.precision,
                                     inputs.description.classes.size(),
                                     device.device,
                                     between_batches,
                                     kWorstImages,
                                     reporting_.views,
                                     config.eval_batch_size,
                                     config.loader_threads,
                                     [&](std::uint64_t done, std::uint64_t images) {
                                       evaluation_.done = done;
                                       evaluation_.images = images;
                                     }};
  evaluate_on_gpu(settings, {inputs.images.info().mean, inputs.images.info().std},
                  memory_of_gpu(device.choice, run_.train.device.request, job_.topology));
  train::Evaluator evaluator(
      job_.world, *session.network, inputs.evaluated(inputs.images.view(data::Split::kTest)),
      inputs.evaluated(inputs.images.validation()), std::move(settings), session.optimizer.get());
  std::optional<train::StepProfiler> profiler;
  if (reporting_.profile) {
    profiler.emplace(
        job_.world, heartbeats_, *reporting_.profile, device.device,
        [&](int rank) { return folder_->rank_trace_path(rank); }, print_warning);
  }
  comm::Progress& progress = profiler ? static_cast<comm::Progress&>(*profiler) : heartbeats_;
  const auto& gpu = device.choice.mine.gpu;
  metrics::SystemSampler system(reporting_.system_interval_seconds, gpu ? gpu->bus_id : "",
                                print_warning);
  train::Trainer trainer(
      {job_.world, step, session.schedule, evaluator, sinks_, &checkpoints, &progress, &system},
      trainer_settings_of(config, inputs, session.plan, session.step_settings), start.state);
  double startup_seconds = 0;
  const train::TrainResult result = run_trainer(trainer, folder_, sinks_, job_, start, [&] {
    session.warm_up(job_, config, inputs, touch_);
    startup_seconds = seconds_since(run_.began);
    return startup_seconds;
  });
  if (profiler && !profiler->finish()) {
    job_.warn("--profile " + run_.options.text("profile") + ": the run made no such step");
  }
  const bool made_no_step = result.stopped && result.steps == start.state.step;
  const std::string late_start = describe_late_start(run_, startup_seconds);
  if (made_no_step && !late_start.empty()) job_.warn(late_start);
  heartbeats_.report(result.steps, comm::Phase::kCheckpoint);
  return {folder_, result, startup_seconds, checkpoints.finish()};
}

// Collective. Leaves the model, the page and the summary.
int TrainRun::finish(const RunOutcome& outcome, const RunInputs& inputs, TrainingSession& session) {
  const train::TrainResult& result = outcome.result;
  if (!result.stopped) {
    for (const auto& sink : sinks_) sink->finish();
  }
  for (const auto& sink : sinks_) sink->sync();  // before the summary says that the run has ended
  sinks_.clear();
  heartbeats_.enter(comm::Phase::kExport);
  session.optimizer->swap_average();  // the average is the model
  if (!result.stopped) export_model(job_, outcome, *session.network, inputs.description);
  comm::agree_on_rank_0(job_.world, [&] {
    const Json summary =
        make_summary(folder_->run_id(), result, job_.topology.world,
                     model::weights_sha256(*session.network), outcome.startup_seconds);
    leave_outcome(outcome, summary);
    if (!reporting_.quiet) show_line(describe_end(outcome, inputs));
    // A stopped run must end with 75 even if the line cannot be written.
    if (reporting_.json) (result.stopped ? show_line : print_line_in_time)(summary.dump());
    if (!outcome.lost.empty()) throw IoError(describe_lost(outcome));
  });
  return static_cast<int>(result.stopped ? ExitCode::kStopped : ExitCode::kDone);
}

std::string TrainRun::describe_end(const RunOutcome& outcome, const RunInputs& inputs) const {
  const bool stopped = outcome.result.stopped;
  const std::string program = program_words(job_.topology.world);
  const std::string runs_dir = std::filesystem::path(folder_->path()).parent_path();
  return Closing{run_.train.config,
                 inputs.arithmetic,
                 inputs.image_count,
                 outcome.result,
                 best_,
                 folder_->path(),
                 stopped ? "" : folder_->safetensors_path(),
                 file_exists(folder_->report_path()) ? folder_->report_path() : "",
                 stopped ? resume_command(program, run_.words, folder_->run_id(), runs_dir)
                         : eval_command(program, run_.train.config.data, folder_->path())}
      .text();
}

}  // namespace

int train_run(Job& job, RunRequest& run) { return TrainRun(job, run).run(); }

}  // namespace tandem::app
