// A training run from a request to its summary: what happens, in the order in which it happens.

#include <algorithm>
#include <chrono>
#include <optional>

#include "checkpoint_manager.hpp"
#include "compute.hpp"
#include "device_choice.hpp"
#include "doctor/start_checks.hpp"
#include "entry.hpp"
#include "gradient_transport.hpp"
#include "last_evaluation.hpp"
#include "plan.hpp"
#include "run_console.hpp"
#include "run_end.hpp"
#include "run_evaluation.hpp"
#include "run_identity.hpp"
#include "run_network.hpp"
#include "run_report.hpp"
#include "run_rules.hpp"
#include "run_sinks.hpp"
#include "run_start.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/gpu_access.hpp"
#include "tandem/metrics/system_sampler.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/model/torch_compat.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/replicate.hpp"
#include "tandem/train/shard_reducer.hpp"
#include "tandem/train/step_profiler.hpp"
#include "tensorboard_start.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kWorstImages = 24;  // that the page shows

std::size_t bucket_bytes_of(const train::TrainConfig& config) {
  return static_cast<std::size_t>(config.bucket_mb * train::kMebibyte);
}

std::unique_ptr<train::GradientExchange> make_exchange(Job& job, const train::TrainConfig& config,
                                                       train::ParameterArena& arena,
                                                       model::Network& network,
                                                       comm::Collectives& gradients) {
  if (config.virtual_ranks > 0) {
    return std::make_unique<train::ShardReducer>(arena, network, job.world);
  }
  return std::make_unique<train::Reducer>(arena, gradients, bucket_bytes_of(config));
}

}  // namespace

int train_run(Job& job, RunRequest& run) {
  const auto began = run.began;
  Options& options = run.options;
  TrainRequest& request = run.train;
  Supervision& supervision = job.supervision();
  comm::HeartbeatTable& heartbeats = supervision.heartbeats();
  const Touch touch = [&heartbeats] { heartbeats.touch(); };
  const RunConsole console(job, request.reporting);
  train::TrainConfig& config = request.config;
  if (config.deterministic) model::use_deterministic_algorithms();
  const int threads = use_threads_of(job, config);

  // Before anything is read: who cannot have the GPUs that were asked for knows at once.
  DeviceChoice choice = choose_device(job, request.device.request);
  const torch::Device device = open_device(job, request.device.request, choice, config.precision);

  // 2. Where it goes, from where, and what it trains on. That the place can be used is cheap to
  // find out first.
  RunStart start = request.reporting.plan ? RunStart() : find_start(job, request.reporting, touch);
  keep_global_batch(job, start, config);
  const NetworkFile network_file = read_network_together(job, start, config.model);
  const train::ImageStore images(config.data, job.world, job.node, job.topology,
                                 config.validation_split, touch);
  warn_about(job, config.data, images);
  const data::DatasetInfo& info = images.info();
  const std::uint64_t image_count = images.view(data::Split::kTrain).labels.size();
  train::BatchArithmetic arithmetic;
  comm::agree(job.world, job.topology.host, [&] {
    arithmetic = train::BatchArithmetic::of(config, image_count, job.topology.world);
  });
  require_same_run(job, start, options, info.digest, network_file.sha256, arithmetic.global_batch);
  if (const auto summary = summary_if_complete(job, start, arithmetic.total_steps)) {
    const std::string text = start.run_id + " is complete:\n" + summary->dump(2) +
                             "\nmore --epochs or --max-steps would go on with it";
    if (job.is_root())
      request.reporting.json ? print_line_in_time(summary->dump()) : show_line(text);
    return 0;
  }
  owe_last_evaluation(job, start, config, arithmetic.total_steps, request.reporting.views);

  // 3. The network: rank 0's weights on every rank, parameters and gradients in one arena.
  const ModelDescription description{network_file.bytes.empty() ? config.model : kNetworkFile,
                                     info.name,
                                     info.digest,
                                     info.shape,
                                     info.classes,
                                     info.mean,
                                     info.std,
                                     network_file.sha256};
  const model::NetworkPtr network =
      make_network_together(job, start, config, description, network_file, device);
  let_learn_from_data(job, start, config, images, *network);
  train::ParameterArena arena(*network, config.channels_last, device);
  train::broadcast_weights(job.world, arena, *network);

  // 4. What a step is made of.
  const auto device_collectives = make_device_collectives(job, request.device, choice, device);
  std::optional<comm::Watchdog::ConnectionCheck> watched;
  if (supervision.watchdog() && device_collectives)
    watched.emplace(*supervision.watchdog(), *device_collectives);
  GradientTransport transport(job, device_collectives.get(), arena, config);
  comm::Collectives& gradients = transport.collectives();
  resolve_bucket_size(job, start, options, config, arithmetic, gradients, arena, *network,
                      info.shape);
  transport.reset_error_feedback();
  const auto exchange = make_exchange(job, config, arena, *network, gradients);
  const auto optimizer = make_optimizer_of(config, arithmetic, arena, *network);
  restore_state(job, start, *network, arena, *optimizer);
  const train::Schedule schedule(config.schedule, arithmetic.learning_rate,
                                 arithmetic.steps_per_epoch, arithmetic.total_steps);
  const data::Layout layout =
      config.channels_last ? data::Layout::kChannelsLast : data::Layout::kPlanar;
  const data::Transform transform(info.shape, layout, info.mean, info.std);
  data::TrainingPlan plan = train::training_plan(config, arithmetic, image_count);
  plan.first_step = start.state.step;
  if (request.reporting.plan) plan.steps = std::max(plan.steps, train::kForecastSteps);
  const auto batches = make_batches(
      images.view(data::Split::kTrain), info, config,
      std::make_unique<data::TrainingSampler>(plan, job.topology.rank, job.topology.world), device,
      memory_of_gpu(choice, request.device.request, job.topology));
  const auto backend = make_step_backend_on(arena, *optimizer, config, start.state.loss_scale);

  if (request.reporting.plan) {
    print_plan(job,
               {config, arithmetic, image_count, exchange->describe() + transport.describe(),
                transport.algorithm()},
               {job.world, gradients, *network, arena, *backend, *batches,
                plan.micro_batches_of_rank(job.topology.world), config.precision,
                bucket_bytes_of(config), touch},
               *exchange, request.reporting.json);
    return 0;
  }

  // 5. Say what is about to happen.
  const ComputeSetup setup{job.topology.world,
                           threads,
                           device.is_cpu() ? "cpu" : "cuda",
                           gradients.has_async_progress() ? "nccl" : "mpi",
                           config.virtual_ranks > 0,
                           transport.algorithm(),
                           options.text("grad-dtype")};
  const RankTable ranks = make_rank_table(job, threads, choice.devices);
  RankFacts facts = look_at_start(job, threads);
  if (choice.mine.gpu && request.reporting.system_interval_seconds > 0) {
    facts.nvml_error = metrics::why_gpu_is_silent(choice.mine.gpu->bus_id);
  }
  warn_of_start(job, facts);
  if (!request.reporting.quiet && job.is_root()) {
    show_line(banner(options, images, config, arithmetic, ranks, arena.parameter_count(),
                     exchange->describe() + transport.describe()));
    if (!choice.note.empty()) show_line(choice.note + "\n");
  }
  std::optional<metrics::RunFolder> folder;  // on rank 0
  metrics::Sinks sinks;
  std::optional<double> best_accuracy;
  comm::agree_on_rank_0(job.world, [&] {
    folder = open_folder(start);
    if (description.is_script()) folder->write_network(network_file.bytes);
    folder->write_config(to_ini(options));
    const std::string command_line = "tandem train " + run.arguments;
    folder->write_manifest(make_manifest(folder->run_id(), images, ranks, command_line,
                                         start.state.step, folder->read_manifest()));
    metrics::ConsoleSettings seen = console.settings(supervision.hosts(), choice.devices);
    seen.total_epochs = config.epochs;
    seen.total_steps = arithmetic.total_steps;
    seen.steps_per_epoch = arithmetic.steps_per_epoch;
    seen.position = [&heartbeats, first = start.state.step] {
      return position_on(heartbeats, first);
    };
    sinks = make_sinks(
        *folder,
        {folder->tensorboard_path(), folder->run_id(), start.state.step,
         request.reporting.histograms_every, visit_weights_of(arena)},
        [&] { return describe_for_tensorboard(options, command_line, images, arithmetic, ranks); },
        std::move(seen));
    if (request.checkpoint_policy.save_best) {
      best_accuracy = train::CheckpointStore(folder->checkpoints_path(), touch).best_accuracy();
    }
    report_start(start, arithmetic.steps_per_epoch, setup, sinks, request.reporting.quiet);
  });

  // 6. Keep it safe.
  std::map<std::string, std::string> kept = description.to_metadata();
  kept["global_batch"] = std::to_string(arithmetic.global_batch);
  kept.merge(setup.to_metadata());
  kept["bucket_mb"] = format_real(config.bucket_mb);
  kept["options"] = options_to_keep(options);
  CheckpointManager checkpoints(
      {job.world, *network, arena, *optimizer}, request.checkpoint_policy,
      boundary_rules_of(request.checkpoint_policy, arithmetic, start.state.step, began),
      folder ? &*folder : nullptr, std::move(kept), sinks, best_accuracy,
      start.resumes ? std::make_optional(start.state) : std::nullopt, touch);

  // 7. Train.
  const auto between_batches = [&](double seconds) {
    heartbeats.touch();
    return checkpoints.must_stop_within(seconds);
  };
  RunEvaluation evaluation(job, *network, images,
                           {transform, config.precision, info.classes.size(), device,
                            between_batches, kWorstImages, false, config.eval_batch_size},
                           request.reporting.views, checkpoints);
  std::optional<train::StepProfiler> profiler;
  if (request.reporting.profile) {
    profiler.emplace(job.world, heartbeats, *request.reporting.profile, device,
                     [&](int rank) { return folder->rank_trace_path(rank); });
  }
  comm::Progress& progress = profiler ? static_cast<comm::Progress&>(*profiler) : heartbeats;
  metrics::SystemSampler system(request.reporting.system_interval_seconds,
                                choice.mine.gpu ? choice.mine.gpu->bus_id : "");
  train::Trainer trainer(
      {job.world, *network, arena, *exchange, *backend, schedule, *batches,
       [&](bool last) { return evaluation.test(last); }, evaluation.validation(), sinks,
       [&](std::uint64_t step, bool evaluated) { return checkpoints.decide(step, evaluated); },
       [&](const train::TrainingState& state) { checkpoints.save(state); }, &progress,
       [&] { return system.take(); },
       [&](const train::Evaluation& found) { keep_evaluation(*folder, found, images); }},
      trainer_settings_of(request, arithmetic, plan), start.state);
  const std::chrono::duration<double> startup = std::chrono::steady_clock::now() - began;
  const train::TrainResult result = run_trainer(trainer, folder, sinks, job, startup.count());
  if (profiler && !profiler->finish()) {
    job.warn("--profile " + options.text("profile") + ": the run made no such step");
  }
  heartbeats.report(result.steps, comm::Phase::kCheckpoint);
  const RunEnd end{folder, result, startup.count(), checkpoints.finish()};
  if (!result.stopped) {
    for (const auto& sink : sinks) sink->finish();
  }
  for (const auto& sink : sinks) sink->sync();  // before the summary says that the run has ended
  sinks.clear();

  // 8. Leave the model, the page and the summary.
  heartbeats.enter(comm::Phase::kExport);
  if (!result.stopped) export_model(job, end, *network, description);
  comm::agree_on_rank_0(job.world, [&] {
    const Json summary = make_summary(folder->run_id(), result, job.topology.world,
                                      model::weights_sha256(*network), startup.count());
    leave_result(*folder, summary);
    if (!request.reporting.quiet) show_line(describe_end(result, folder->path()));
    // A stopped run must end with 75 even if the line cannot be written.
    if (request.reporting.json) (result.stopped ? show_line : print_line_in_time)(summary.dump());
    if (!end.lost.empty()) throw IoError(describe_lost(end));
  });
  return static_cast<int>(result.stopped ? ExitCode::kStopped : ExitCode::kDone);
}

}  // namespace tandem::app
