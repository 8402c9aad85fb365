#include "training_session.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/optimizer_choice.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/bucket_choice.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/replicate.hpp"
#include "tandem/train/shard_reducer.hpp"
#include "tandem/train/warm_up.hpp"

namespace tandem::app {
namespace {

// With buckets of this size, NCCL exchanges most of 8 to 45 MB of gradients while backward runs.
constexpr double kNcclBucketMb = 2;
// The first one loads libraries and times kernels; after the third no memory is new.
constexpr std::uint64_t kWarmUpSteps = 3;

std::unique_ptr<comm::Watchdog::ConnectionCheck> check_connections(Job& job,
                                                                   comm::Collectives* device) {
  auto& watchdog = job.supervision().watchdog();
  if (!watchdog || device == nullptr) return nullptr;
  return std::make_unique<comm::Watchdog::ConnectionCheck>(*watchdog, *device);
}

// Another rank rounds otherwise.
std::string gradients_of(const Options& options) {
  const std::string& form = options.text("grad-dtype");
  return form == "powersgd" ? "rank-" + options.text("powersgd-rank") + " powersgd" : form;
}

ComputeSetup setup_of(const Job& job, const RunRequest& run, const RunDevice& device,
                      GradientTransport& transport) {
  return {job.topology.world,
          device.threads,
          device.device.is_cpu() ? "cpu" : "cuda",
          transport.collectives().has_async_progress() ? "nccl" : "mpi",
          run.train.config.virtual_ranks > 0,
          transport.algorithm(),
          gradients_of(run.options),
          model::name_of(run.train.config.convolution)};
}

data::TrainingPlan plan_of(const TrainRequest& request, const RunInputs& inputs,
                           const RunStart& start) {
  data::TrainingPlan plan =
      train::training_plan(request.config, inputs.arithmetic, inputs.image_count);
  plan.first_step = start.state.step;
  plan.lanes = inputs.lanes;
  if (request.reporting.plan) plan.steps = std::max(plan.steps, kPlanSteps);
  return plan;
}

train::StepSettings step_settings_of(const TrainRequest& request, const data::TrainingPlan& plan,
                                     const comm::Topology& topology) {
  auto settings = train::StepSettings::of(request.config, plan, topology.rank, topology.world);
  settings.skip_nonfinite = request.checkpoint_policy.skip_nonfinite;
  return settings;
}

std::unique_ptr<train::GradientExchange> make_exchange(Job& job, const train::TrainConfig& config,
                                                       train::ParameterArena& arena,
                                                       model::Network& network,
                                                       comm::Collectives& gradients) {
  if (config.virtual_ranks > 0) {
    return std::make_unique<train::ShardReducer>(arena, network, job.world,
                                                 model::is_script_file(config.model));
  }
  return std::make_unique<train::Reducer>(arena, gradients,
                                          train::bytes_of_bucket(config.bucket_mb));
}

std::unique_ptr<train::ClassWeights> make_class_weights(Job& job, const train::TrainConfig& config,
                                                        const RunInputs& inputs,
                                                        const data::TrainingPlan& plan,
                                                        torch::Device device) {
  if (!config.weighs_classes() || inputs.images.info().multi_label) return nullptr;
  const data::ImagesView images = inputs.images.view(data::Split::kTrain);
  std::vector<double> weights;
  comm::agree(job.world, [&] {
    weights = train::weights_of_classes(config, images, inputs.description.classes.size());
  });
  return std::make_unique<train::ClassWeights>(weights, images, plan, device);
}

torch::Tensor make_positive_weights(Job& job, const train::TrainConfig& config,
                                    const RunInputs& inputs, torch::Device device) {
  const data::DatasetInfo& info = inputs.images.info();
  if (!config.weighs_classes() || !info.multi_label) return {};
  std::vector<float> weights;
  comm::agree(job.world, [&] {
    weights = train::positive_weights_of(config, inputs.images.view(data::Split::kTrain),
                                         info.classes.size());
  });
  return torch::tensor(weights).to(device);
}

}  // namespace

TrainingSession::TrainingSession(Job& job, RunRequest& run, const RunStart& start,
                                 const RunInputs& inputs, const RunDevice& device)
    : initial(make_network_together(job, start, run.train.config, inputs, device.device)),
      network(initial.network),
      arena(*network, run.train.config.channels_last, device.device),
      device_collectives(
          make_device_collectives(job, run.train.device, device.choice, device.device)),
      connection_check(check_connections(job, device_collectives.get())),
      transport(job, device_collectives.get(), arena, run.train.config),
      setup(setup_of(job, run, device, transport)),
      schedule(run.train.config.schedule, inputs.arithmetic.learning_rate,
               inputs.arithmetic.steps_per_epoch, inputs.schedule.steps),
      transform(transform_of(run.train.config, inputs.images.info())),
      plan(plan_of(run.train, inputs, start)),
      step_settings(step_settings_of(run.train, plan, job.topology)) {
  const train::TrainConfig& config = run.train.config;
  if (config.sync_bn) norms = train::synchronize_norms(job.world, *network);
  share_weights(job, config, arena);
  train::broadcast_weights(job.world, arena, *network);
  choose_bucket_size(job, run, start, inputs);
  transport.collectives().reset_error_feedback();
  exchange = make_exchange(job, config, arena, *network, transport.collectives());
  optimizer = make_optimizer_of(config, inputs.arithmetic, arena, *network);
  restore_state(job, start, *network, arena, *optimizer);
  if (start.resumes && transport.power_sgd() != nullptr) {
    transport.power_sgd()->restore_state(job.world, start.checkpoint
                                                        ? start.checkpoint->tensors
                                                        : std::vector<model::NamedTensor>());
  }
  batches = make_batches(
      inputs.images.view(data::Split::kTrain), inputs.images.info(), config,
      std::make_unique<data::TrainingSampler>(plan, job.topology.rank, job.topology.world),
      {device.device, memory_of_gpu(device.choice, run.train.device.request, job.topology),
       [&job] { job.touch(); }});
  class_weights = make_class_weights(job, config, inputs, plan, device.device);
  positive_weights = make_positive_weights(job, config, inputs, device.device);
  backend = make_step_backend_on(arena, *optimizer, config,
                                 loss_scale_of(config, inputs.arithmetic, start.state.loss_scale));
}

std::string TrainingSession::describe_exchange() const {
  const char* const shared =
      arena.host_arrays() == nullptr ? "" : ", one copy of weights and optimizer state per host";
  return exchange->describe() + transport.describe() + shared;
}

// Where --bucket-mb is auto or not given: the size that the run had when it began; for a new run
// the measured one, or one that suits the collectives.
void TrainingSession::choose_bucket_size(Job& job, RunRequest& run, const RunStart& start,
                                         const RunInputs& inputs) {
  train::TrainConfig& config = run.train.config;
  comm::Collectives& collectives = transport.collectives();
  // With a GPU hooks run on a thread of autograd, on which collectives over MPI call MPI.
  const bool can_overlap = arena.device().is_cpu() || collectives.has_async_progress() ||
                           comm::Runtime::allows_threads();
  const auto measured = [&] {
    train::ProbeConfig probe;
    const auto ranks = static_cast<std::uint64_t>(job.topology.world);
    probe.images =
        std::max<std::uint64_t>(1, inputs.arithmetic.global_batch / (ranks * config.accumulate));
    probe.shape = inputs.images.info().shape;
    probe.precision = config.precision;
    probe.channels_last = config.channels_last;
    return train::measure_bucket_mb(job.world, collectives, arena, *network, probe);
  };
  const auto chosen = [&]() -> double {
    if (transport.power_sgd() != nullptr) return 0;
    if (start.bucket_mb) return *start.bucket_mb;
    if (config.virtual_ranks > 0 || !can_overlap) return 0;
    if (config.measure_bucket) return measured();
    return collectives.has_async_progress() ? kNcclBucketMb : 0;
  };
  if (config.measure_bucket || !run.options.is_set("bucket-mb")) {
    config.bucket_mb = chosen();
  }
  if (!can_overlap && config.bucket_mb > 0) {
    job.warn("this MPI has no MPI_THREAD_MULTIPLE, so gradients are exchanged after backward");
    config.bucket_mb = 0;
  }
  run.options.resolve("bucket-mb", format_real(config.bucket_mb));
}

std::size_t TrainingSession::frozen_parameters() const {
  std::size_t count = 0;
  for (const torch::Tensor& each : network->parameters()) {
    if (!each.requires_grad()) count += static_cast<std::size_t>(each.numel());
  }
  return count;
}

void TrainingSession::warm_up(Job& job, const train::TrainConfig& config, const RunInputs& inputs,
                              const Touch& touch) {
  if (arena.device().is_cpu()) return;
  const auto unused_sums =
      make_step_backend_on(arena, *optimizer, config, loss_scale_of(config, inputs.arithmetic, {}));
  for (const std::uint64_t step : train::steps_of_each_size(plan)) {
    auto sampler = std::make_unique<train::WarmUpSampler>(plan, step, job.topology.rank,
                                                          job.topology.world, kWarmUpSteps);
    const data::ImagesView all = inputs.images.view(data::Split::kTrain);
    const data::ImagesView view = all.part(0, std::min(sampler->image_count(), all.labels.size()));
    const auto few = make_batches(view, inputs.images.info(), config, std::move(sampler),
                                  {arena.device(), std::numeric_limits<std::uint64_t>::max()});
    train::warm_up({*network, arena, *exchange, *unused_sums, *few, nullptr, class_weights.get(),
                    norms.get(), positive_weights},
                   step_settings, *optimizer, kWarmUpSteps, touch);
  }
  transport.collectives().reset_error_feedback();
}

StateMemory TrainingSession::state_memory() const {
  std::uint64_t kept = 0;
  for (const train::StateArray& each : optimizer->state()) {
    kept += static_cast<std::uint64_t>(each.values.nbytes());
  }
  const auto values = static_cast<std::uint64_t>(arena.flat_values().nbytes());
  StateMemory memory;
  memory.shared_gradients = arena.has_shared_gradients() ? values : 0;
  const bool is_shared = arena.host_arrays() != nullptr;
  memory.of_rank = values + (is_shared ? 0 : values + kept);
  memory.of_host = is_shared ? values + kept : 0;
  return memory;
}

void TrainingSession::print_forecast(Job& job, const RunRequest& run, const RunInputs& inputs,
                                     const Touch& touch) {
  const train::TrainConfig& config = run.train.config;
  data::TrainingPlan steps = plan;
  steps.steps = inputs.arithmetic.total_steps;
  const std::size_t floats = transport.power_sgd() != nullptr
                                 ? transport.power_sgd()->floats_per_step()
                                 : arena.gradients().size();
  std::optional<DataMemory> data_memory;
  if (arena.device().is_cpu()) {
    const train::ImageStore& images = inputs.images;
    const auto ranks = static_cast<std::uint64_t>(job.node.size());
    const std::uint64_t kept = (images.shared() ? 1 : ranks) * images.bytes();
    data_memory = DataMemory::of(config, images.info(), job.topology.world, kept);
    data_memory->cache = images.cache_bytes();
  }
  const bool has_no_model = config.virtual_ranks > 0 || transport.power_sgd() != nullptr;
  print_plan(
      job,
      {config, inputs.arithmetic, steps, inputs.image_count, describe_exchange(),
       transport.algorithm(), floats * (config.bfloat16_gradients ? 2 : sizeof(float)),
       run.train.reporting.plan_target, data_memory, state_memory()},
      {job.world, transport.collectives(), step(), step_settings,
       has_no_model ? std::nullopt : std::make_optional(train::bytes_of_bucket(config.bucket_mb)),
       touch},
      run.train.reporting.json);
}

}  // namespace tandem::app
