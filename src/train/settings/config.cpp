#include "tandem/train/config.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::train {

std::uint64_t TrainConfig::micro_batches_per_step(std::uint64_t world) const {
  return virtual_ranks > 0 ? virtual_ranks : world * accumulate;
}

void require_even_shards(const TrainConfig& config, std::uint64_t ranks) {
  if (config.virtual_ranks % ranks == 0) return;
  throw UsageError("--virtual-ranks: " + std::to_string(config.virtual_ranks) +
                   " shards cannot be dealt evenly to " + std::to_string(ranks) +
                   " ranks; start 1, 2, 4, … ranks, a number that divides them");
}

BatchArithmetic BatchArithmetic::of(const TrainConfig& config, std::uint64_t image_count,
                                    int world) {
  const auto ranks = static_cast<std::uint64_t>(world);
  require_even_shards(config, ranks);
  BatchArithmetic result;
  result.global_batch = config.global_batch_size > 0
                            ? config.global_batch_size
                            : config.batch_size * config.micro_batches_per_step(ranks);
  result.steps_per_epoch = training_plan(config, result, image_count).steps_per_epoch();
  if (result.steps_per_epoch == 0) {
    throw UsageError("--drop-last: the global batch of " + std::to_string(result.global_batch) +
                     " is larger than the " + std::to_string(image_count) +
                     " training images, so no step would be left; lower the batch size");
  }
  result.total_steps = static_cast<std::uint64_t>(
      std::ceil(config.epochs * static_cast<double>(result.steps_per_epoch) - 1e-9));
  if (config.max_steps > 0) result.total_steps = std::min(result.total_steps, config.max_steps);
  result.learning_rate = config.learning_rate;
  if (config.lr_reference_batch > 0) {
    result.learning_rate *= static_cast<double>(result.global_batch) / config.lr_reference_batch;
  }
  return result;
}

std::string BatchArithmetic::describe(const TrainConfig& config, int world) const {
  std::string text = "global batch " + std::to_string(global_batch);
  const std::string ranks = config.virtual_ranks > 0
                                ? std::to_string(config.virtual_ranks) + " virtual ranks"
                                : format_quantity(world, "rank");
  const std::string accumulate = "accumulate " + std::to_string(config.accumulate);
  if (config.global_batch_size > 0) {
    const std::uint64_t micro_batches =
        config.micro_batches_per_step(static_cast<std::uint64_t>(world));
    const std::uint64_t least = global_batch / micro_batches;
    const std::uint64_t most = (global_batch + micro_batches - 1) / micro_batches;
    text += " dealt to " + ranks + " x " + accumulate + ", " + std::to_string(least) +
            (least == most ? "" : " or " + std::to_string(most)) + " images each";
  } else {
    text += " = " + std::to_string(config.batch_size) + " x " + ranks + " x " + accumulate;
  }
  text += "; lr " + format_real(learning_rate);
  if (config.lr_reference_batch > 0) {
    text += " (" + format_real(config.learning_rate) + " at " +
            format_real(config.lr_reference_batch) + ", linear)";
  }
  return text + "; " + format_quantity(steps_per_epoch, "step") + "/epoch" +
         (config.sums_loss ? "; gradient: sum over the global batch" : "");
}

data::TrainingPlan training_plan(const TrainConfig& config, const BatchArithmetic& arithmetic,
                                 std::uint64_t image_count) {
  data::TrainingPlan plan;
  plan.image_count = static_cast<std::uint32_t>(image_count);
  plan.global_batch = arithmetic.global_batch;
  plan.accumulate = config.accumulate;
  plan.virtual_ranks = config.virtual_ranks;
  plan.drop_last = config.drop_last;
  plan.mixes = config.augment.mixes();
  plan.seed = config.seed;
  plan.steps = arithmetic.total_steps;
  return plan;
}

}  // namespace tandem::train
