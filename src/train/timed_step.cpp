#include "tandem/train/timed_step.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/objective.hpp"

namespace tandem::train {
namespace {

// Adds the time since its last call.
class Stopwatch {
 public:
  void add_to(double& sum) {
    const auto now = Clock::now();
    sum += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

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

void TimedStep::finish_phase() {
  if (wait_ == Wait::kAfterEachPhase) on_host(arena_.flat_gradients().slice(0, 0, 1));
}

StepCost TimedStep::run(BatchSource& batches, std::uint64_t micro_batches,
                        GradientExchange& exchange, StepBackend* backend) {
  StepCost cost;
  Stopwatch watch;
  for (std::uint64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    const std::optional<TensorBatch> batch = batches.next();
    if (!batch) throw InternalError("the batches ended before the measurement did");
    watch.add_to(cost.data);
    exchange.begin_micro_batch(micro_batch, micro_batches, batch->size() > 0);
    if (batch->size() > 0) {
      torch::Tensor logits;
      {
        const model::AutocastScope autocast(precision_, batch->images.device().type());
        logits = network_.forward(batch->images);
      }
      const torch::Tensor loss = summed_cross_entropy(logits, batch->labels, 0);
      finish_phase();
      watch.add_to(cost.forward);
      const std::uint64_t global_count = batch->request.global_count;
      loss.backward(backend != nullptr ? backend->loss_scale_gradient(global_count)
                                       : torch::full({}, 1.0 / static_cast<double>(global_count),
                                                     torch::TensorOptions(batch->images.device())));
      if (backend != nullptr) backend->count(*batch, loss, logits);
    }
    exchange.end_micro_batch();
    finish_phase();
    watch.add_to(cost.backward);
  }
  exchange.finish();
  finish_phase();
  watch.add_to(cost.exchange);
  if (backend != nullptr) {
    backend->update(0, 0.0);
    if (backend->drains_without_sync()) backend->drain();
  }
  on_host(arena_.flat_values().slice(0, 0, 1));  // waits for the device
  on_host(arena_.flat_gradients().slice(0, 0, 1));
  watch.add_to(cost.update);
  return cost;
}

double median_of(std::vector<double> values) {
  if (values.empty()) throw InternalError("nothing was measured");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

StepCost of_slowest_rank(comm::Communicator& world, const std::vector<StepCost>& steps) {
  constexpr std::size_t kCount = std::size(kPhases);
  std::vector<double> all(kCount * static_cast<std::size_t>(world.size()));
  for (std::size_t phase = 0; phase < kCount; ++phase) {
    std::vector<double> values;
    for (const StepCost& step : steps) values.push_back(step.*kPhases[phase]);
    all[kCount * static_cast<std::size_t>(world.rank()) + phase] = median_of(std::move(values));
  }
  world.all_reduce(Span<double>(all));
  StepCost slowest;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world.size()); ++rank) {
    StepCost cost;
    for (std::size_t phase = 0; phase < kCount; ++phase)
      cost.*kPhases[phase] = all[kCount * rank + phase];
    if (cost.whole() > slowest.whole()) slowest = cost;
  }
  return slowest;
}

}  // namespace tandem::train
