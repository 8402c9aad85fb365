#include "tandem/train/step_timing.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/median.hpp"
#include "tandem/core/random.hpp"

namespace tandem::train {
namespace {

constexpr double StepCost::*kPhases[] = {&StepCost::data, &StepCost::forward, &StepCost::backward,
                                         &StepCost::exchange, &StepCost::update};

}  // namespace

SyntheticBatch::SyntheticBatch(std::uint64_t images, std::uint64_t global_count,
                               data::ImageShape shape, bool channels_last, torch::Device device) {
  CounterRandom random{images, global_count};
  const auto count = static_cast<std::int64_t>(images);
  torch::Tensor noise = torch::empty({count, shape.channels, shape.height, shape.width});
  float* pixels = noise.data_ptr<float>();
  for (std::int64_t i = 0; i < noise.numel(); ++i) {
    pixels[i] = static_cast<float>(2 * random.uniform() - 1);
  }
  batch_.images = noise.to(device);
  if (channels_last) batch_.images = batch_.images.contiguous(at::MemoryFormat::ChannelsLast);
  batch_.labels = torch::zeros({count}, torch::TensorOptions(torch::kInt64).device(device));
  batch_.request.global_count = global_count;
  batch_.request.images.resize(images);
}

StepCost of_slowest_rank(comm::Communicator& world, const std::vector<StepCost>& steps) {
  StepCost cost;
  for (const auto phase : kPhases) {
    std::vector<double> values;
    for (const StepCost& step : steps) values.push_back(step.*phase);
    cost.*phase = median_of(std::move(values));
  }
  const std::vector<StepCost> ranks = world.all_gather(cost);
  return *std::max_element(
      ranks.begin(), ranks.end(),
      [](const StepCost& one, const StepCost& other) { return one.whole() < other.whole(); });
}

}  // namespace tandem::train
