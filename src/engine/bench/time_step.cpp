// The engine of tandem bench step: the time of each part of a training step, on noise in memory.
#include <algorithm>

#include "engine/compute.hpp"
#include "engine/entry.hpp"
#include "engine/gradient_transport.hpp"
#include "engine/optimizer_choice.hpp"
#include "session/device_choice.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/muon.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/replicate.hpp"
#include "tandem/train/step_runner.hpp"
#include "tandem/train/step_timing.hpp"

namespace tandem::app {
namespace {

constexpr data::ImageShape kSyntheticShape{3, 32, 32};
constexpr std::int64_t kSyntheticClasses = 10;
constexpr std::uint64_t kImagesOfAnEpoch = 50'000;  // CIFAR-10's

// Over all ranks, by the slowest of each step.
struct StepTiming {
  train::StepCost phases;
  std::vector<double> images_per_second;  // of each step, in ascending order
};

// On rank 0.
void print_step(const Job& job, const StepRequest& request, const StepTiming& timing,
                const std::string& exchange) {
  const std::vector<double>& rates = timing.images_per_second;
  const double median = rates[rates.size() / 2];
  const train::StepCost& phases = timing.phases;
  if (request.json) {
    const Json object{
        {"form", "step"},
        {"ranks", job.topology.world},
        {"model", request.config.model},
        {"batch_size", request.config.batch_size},
        {"steps", request.steps},
        {"images_per_second", {{"median", median}, {"min", rates.front()}, {"max", rates.back()}}},
        {"seconds",
         {{"forward", phases.forward},
          {"backward", phases.backward},
          {"exchange", phases.exchange},
          {"update", phases.update},
          {"step", phases.whole()}}}};
    print_line(object.dump());
    return;
  }
  const auto row = [&](const std::string& name, double seconds) {
    return std::vector<std::string>{name, format_fixed(1e3 * seconds, 2),
                                    format_fixed(100 * seconds / phases.whole(), 1)};
  };
  const auto count = [](double rate) { return format_count(static_cast<std::int64_t>(rate)); };
  print_line(request.config.model + ", " + std::to_string(request.config.batch_size) +
             " images x " + format_quantity(job.topology.world, "rank") + ", " + exchange);
  print_line(format_table({{"part", "ms", "%"},
                           row("forward", phases.forward),
                           row("backward", phases.backward),
                           row("exchange", phases.exchange),
                           row("update", phases.update)}) +
             "\nin all " + format_fixed(1e3 * phases.whole(), 2) + " ms; steps: " + count(median) +
             " images/s, " + count(rates.front()) + " to " + count(rates.back()) + " in " +
             std::to_string(request.steps) + " steps");
}

}  // namespace

int time_step(Job& job, const StepRequest& request) {
  use_threads_of(job, request.config);
  train::TrainConfig config = request.config;
  config.optimizer.bfloat16_products = comm::is_true_everywhere(
      job.world, train::prefers_bfloat16_products(config.optimizer, config.precision));
  DeviceChoice choice = choose_device(job, request.device.request);
  const torch::Device device = open_device(job, request.device.request, choice, {config.precision});
  torch::manual_seed(config.seed);
  model::NetworkPtr network;
  comm::agree(job.world, [&] {
    network = model::make_network(
        config.model, {kSyntheticShape.channels, kSyntheticShape.height, kSyntheticShape.width},
        kSyntheticClasses);
  });
  network->train();
  model::choose_convolution(*network, config.convolution);
  if (config.gradient_checkpointing) network->recompute_blocks();
  train::ParameterArena arena(*network, config.channels_last, device);
  train::broadcast_weights(job.world, arena, *network);
  const auto device_collectives = make_device_collectives(job, request.device, choice, device);
  GradientTransport transport(job, device_collectives.get(), arena, config);
  share_weights(job, config, arena);
  train::Reducer exchange(arena, transport.collectives(), train::bytes_of_bucket(config.bucket_mb));
  const auto arithmetic = train::BatchArithmetic::of(config, kImagesOfAnEpoch, job.topology.world);
  const auto optimizer = make_optimizer_of(config, arithmetic, arena, *network);
  const auto backend =
      make_step_backend_on(arena, *optimizer, config, loss_scale_of(config, arithmetic, {}));

  const auto ranks = static_cast<std::uint64_t>(job.topology.world);
  const std::uint64_t images = config.batch_size * ranks;
  train::SyntheticBatch batches(config.batch_size, images, kSyntheticShape, config.channels_last,
                                device);
  train::StepSettings settings;
  settings.precision = config.precision;
  settings.wait = train::StepSettings::Wait::kAfterEachPhase;
  train::StepRunner step({*network, arena, exchange, *backend, batches}, settings);
  std::vector<train::StepCost> costs;
  StepTiming timing;
  for (std::uint64_t i = 0; i < train::kUntimedSteps + request.steps; ++i) {
    job.touch();
    const train::StepCost cost = step.run(i, 0);
    if (i < train::kUntimedSteps) continue;
    costs.push_back(cost);
    const double slowest = job.world.all_reduce_value(cost.whole(), comm::Reduction::kMax);
    timing.images_per_second.push_back(static_cast<double>(images) / slowest);
  }
  std::sort(timing.images_per_second.begin(), timing.images_per_second.end());
  timing.phases = train::of_slowest_rank(job.world, costs);
  timing.phases.data = 0;  // the same batch each time
  comm::agree_on_rank_0(job.world, [&] {
    print_step(job, request, timing, exchange.describe() + transport.describe());
  });
  return 0;
}

}  // namespace tandem::app
