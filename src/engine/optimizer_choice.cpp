#include "optimizer_choice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compute.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/host_arrays.hpp"
#include "tandem/model/tensor_memory.hpp"
#include "tandem/train/layerwise_optimizers.hpp"
#include "tandem/train/muon.hpp"
#include "tandem/train/rate_scales.hpp"
#include "tandem/train/shared_optimizer.hpp"
#include "tandem/train/weight_average.hpp"

namespace tandem::app {
namespace {

std::unique_ptr<train::Optimizer> make_plain_optimizer(const train::TrainConfig& config,
                                                       const train::BatchArithmetic& arithmetic,
                                                       train::ParameterArena& arena,
                                                       const model::Network& network) {
  train::OptimizerOptions options = config.optimizer;
  if (options.name == "muon") options.early_steps = early_steps_of(config, arithmetic);
  if (arena.host_arrays() != nullptr) {
    auto optimizer = train::make_shared_optimizer(options, arena, arithmetic.learning_rate,
                                                  network.early_parameters());
    // What each rank had before it shared: the allocator would keep it for tensors of its size.
    model::release_unused_memory();
    return optimizer;
  }
  if (options.name == "muon") {
    const auto make = arena.device().is_cpu() ? train::make_muon : train::make_device_muon;
    return make(options, arena, arithmetic.learning_rate, network.early_parameters());
  }
  if (train::is_layerwise(options)) {
    return arena.device().is_cpu() ? train::make_layerwise_optimizer(options, arena)
                                   : train::make_device_layerwise_optimizer(options, arena);
  }
  const auto size = static_cast<std::size_t>(arena.flat_values().numel());
  return arena.device().is_cpu() ? train::make_optimizer(options, size)
                                 : train::make_device_optimizer(options, size, arena.device());
}

}  // namespace

void share_weights(Job& job, const train::TrainConfig& config, train::ParameterArena& arena) {
  if (!config.share_weights) return;
  comm::agree(job.world, [&] { require_cpu(arena.device(), "--share-weights"); });
  auto arrays =
      comm::HostArrays::make(job.world, job.node, 1 + train::state_array_count(config.optimizer),
                             static_cast<std::size_t>(arena.flat_values().numel()));
  if (arrays == nullptr) {
    job.warn(
        "--share-weights: the ranks of a host cannot share memory, as in different containers, so "
        "each keeps its own weights");
    return;
  }
  arena.share_values(std::move(arrays));
}

std::uint64_t early_steps_of(const train::TrainConfig& config,
                             const train::BatchArithmetic& arithmetic) {
  if (config.optimizer.name != "muon" || config.early_epochs == 0) return 0;
  const double steps = config.early_epochs * static_cast<double>(arithmetic.steps_per_epoch);
  return static_cast<std::uint64_t>(std::max(1.0, std::round(steps)));
}

std::unique_ptr<train::Optimizer> make_optimizer_of(const train::TrainConfig& config,
                                                    const train::BatchArithmetic& arithmetic,
                                                    train::ParameterArena& arena,
                                                    const model::Network& network) {
  auto optimizer = train::with_rate_scales(make_plain_optimizer(config, arithmetic, arena, network),
                                           arena, config.rate_scales);
  if (config.ema == 0) return optimizer;
  return std::make_unique<train::WeightAverage>(std::move(optimizer), arena, network, config.ema);
}

}  // namespace tandem::app
