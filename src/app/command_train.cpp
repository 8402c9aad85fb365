// tandem train, from options to summary: what happens, in the order in which it happens.

#include <chrono>
#include <optional>

#include "run_report.hpp"
#include "tandem/app/commands.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/console.hpp"
#include "tandem/metrics/json_lines.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/model/pth_file.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/finite.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

metrics::Sinks make_sinks(const std::optional<metrics::RunFolder>& folder,
                          const TrainRequest& request) {
  metrics::Sinks sinks;
  if (!folder) return sinks;
  sinks.push_back(std::make_unique<metrics::JsonLinesSink>(folder->metrics_path()));
  if (request.reporting.quiet) return sinks;
  const bool terminal = is_terminal_of_launcher();
  const auto progress = !request.reporting.progress ? metrics::Progress::kNone
                        : terminal                  ? metrics::Progress::kLive
                                                    : metrics::Progress::kLines;
  sinks.push_back(std::make_unique<metrics::ConsoleSink>(request.config.epochs, progress));
  return sinks;
}

// The last update is followed by no other gradient that would tell.
void require_finite_weights(Job& job, train::ParameterArena& arena) {
  comm::agree(job.world, job.topology.host, [&] {
    if (train::all_finite(arena.values())) return;
    throw TrainingError(
        "after the last step a weight is not finite, and no model is written; lower --lr, or limit "
        "the gradient with --clip-norm");
  });
}

// Rank 0 writes the model in both forms; the weights are everywhere the same.
void export_model(Job& job, const std::optional<metrics::RunFolder>& folder,
                  model::Network& network, const ModelDescription& description) {
  train::broadcast_buffers(job.world, network);
  comm::agree_on_rank_0(job.world, [&] {
    const std::vector<model::NamedTensor> tensors = model::state_dict(network);
    model::write_safetensors(folder->safetensors_path(), tensors, description.to_metadata());
    model::write_pth(folder->pth_path(description.dataset), tensors);
  });
}

int run_train(Job& job, const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  // 1. What is asked for, the same on every rank.
  Options options = resolve_together(job, "train", train_option_table(), arguments);
  TrainRequest request;
  comm::agree(job.world, job.topology.host, [&] { request = read_train_options(options); });
  if (request.reporting.print_config) {
    job.say(describe_options(options));
    return 0;
  }
  const train::TrainConfig& config = request.config;
  int threads = 1;
  comm::agree(job.world, job.topology.host,
              [&] { threads = use_threads(config.threads, job.topology); });

  // 2. Where it goes and what it trains on. That the place can be used is cheap to find out first.
  const std::string run_id = request.reporting.run_id.empty()
                                 ? job.world.broadcast_string(metrics::make_run_id())
                                 : request.reporting.run_id;
  comm::agree_on_rank_0(
      job.world, [&] { metrics::RunFolder::require_free(request.reporting.runs_dir, run_id); });
  const train::ImageStore images(config.data, job.world, job.node, job.topology);
  warn_about(job, config.data, images);
  const data::DatasetInfo& info = images.info();
  train::BatchArithmetic arithmetic;
  comm::agree(job.world, job.topology.host, [&] {
    arithmetic = train::BatchArithmetic::of(config, info.train_count, job.topology.world);
  });

  // 3. The network: rank 0's weights on every rank, parameters and gradients in one arena.
  torch::manual_seed(config.seed);
  model::NetworkPtr network;
  comm::agree(job.world, job.topology.host, [&] {
    network = model::make_network(config.model,
                                  {info.shape.channels, info.shape.height, info.shape.width},
                                  static_cast<std::int64_t>(info.classes.size()));
  });
  train::ParameterArena arena(*network, config.channels_last);
  train::broadcast_weights(job.world, arena, *network);

  // 4. What a step is made of.
  const auto bucket_bytes =
      static_cast<std::size_t>(config.bucket_mb * static_cast<double>(kMegabyte));
  train::Reducer reducer(arena, job.world, bucket_bytes);
  const auto optimizer = train::make_optimizer(config.optimizer, arena.values().size());
  const train::Schedule schedule(config.schedule, arithmetic.learning_rate,
                                 arithmetic.steps_per_epoch, arithmetic.total_steps);
  const data::Layout layout =
      config.channels_last ? data::Layout::kChannelsLast : data::Layout::kPlanar;
  const data::Transform transform(info.shape, layout, info.mean, info.std);
  const data::TrainingPlan plan = train::training_plan(config, arithmetic, info.train_count);
  data::BatchLoader loader(
      images.view(data::Split::kTrain), transform, {config.augment, config.seed},
      std::make_unique<data::TrainingSampler>(plan, job.topology.rank, job.topology.world));

  // 5. Say what is about to happen.
  const RankTable ranks = make_rank_table(job, threads);
  for (const std::string& warning : ranks.warnings) job.warn(warning);
  if (!request.reporting.quiet && job.is_root()) {
    print_line(banner(options, images, config, arithmetic, ranks, arena.parameter_count(),
                      reducer.buckets().size()));
  }
  std::optional<metrics::RunFolder> folder;  // on rank 0
  metrics::Sinks sinks;
  comm::agree_on_rank_0(job.world, [&] {
    folder = metrics::RunFolder::create(request.reporting.runs_dir, run_id);
    folder->write_config(to_ini(options));
    folder->write_manifest(
        make_manifest(folder->run_id(), images, ranks, "tandem train " + join(arguments, " ")));
    sinks = make_sinks(folder, request);
  });

  // 6. Train.
  const train::EvaluationSettings evaluation{transform, layout, config.precision,
                                             info.classes.size()};
  train::TrainerSettings settings;
  settings.plan = plan;
  settings.shape = info.shape;
  settings.layout = layout;
  settings.precision = config.precision;
  settings.label_smoothing = config.label_smoothing;
  settings.clip_norm = config.clip_norm;
  settings.eval_every = config.eval_every;
  settings.log_every = config.log_every;
  const auto evaluate_test = [&] {
    return train::evaluate(job.world, *network, images.view(data::Split::kTest), evaluation);
  };
  train::Trainer trainer(
      {job.world, *network, arena, reducer, *optimizer, schedule, loader, evaluate_test, sinks},
      settings);
  const std::chrono::duration<double> startup = std::chrono::steady_clock::now() - start;
  const train::TrainResult result = trainer.run();
  sinks.clear();

  // 7. Leave the model and the summary.
  require_finite_weights(job, arena);
  export_model(
      job, folder, *network,
      {config.model, info.name, info.digest, info.shape, info.classes, info.mean, info.std});
  comm::agree_on_rank_0(job.world, [&] {
    const Json summary = make_summary(folder->run_id(), result, job.topology.world,
                                      model::weights_sha256(*network), startup.count());
    folder->write_summary(summary);
    if (!request.reporting.quiet) {
      print_line("done: " + format_count(static_cast<std::int64_t>(result.steps)) + " steps in " +
                 format_fixed(result.train_seconds, 1) + " s, " +
                 format_count(static_cast<std::int64_t>(result.images_per_second)) + " images/s; " +
                 folder->path());
    }
    if (request.reporting.json) print_line(summary.dump());
  });
  return 0;
}

}  // namespace

Command train_command() {
  return {"train",
          "--data FILE.h5 [options]",
          "train a network on one or several ranks",
          "mpirun -np 2 tandem train --data synthetic.h5 --epochs 2",
          train_option_table(),
          nullptr,
          run_train};
}

}  // namespace tandem::app
