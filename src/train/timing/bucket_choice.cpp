#include "tandem/train/bucket_choice.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "tandem/core/median.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/kept_buffers.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/step_runner.hpp"
#include "tandem/train/step_timing.hpp"

namespace tandem::train {
namespace {

// For gradients of 8 to 45 MB. The first bucket must be small, so that its sum begins early.
constexpr double kSizes[] = {0, 1, 2, 4};
constexpr std::uint64_t kSteps = 5;
// A smaller gain is noise, and the earlier size stays.
constexpr double kGain = 0.02;

// Leaves the weights as they are.
class NoUpdate final : public StepBackend {
 public:
  explicit NoUpdate(torch::Device device) : device_(device) {}
  bool drains_without_sync() const override { return true; }
  torch::Tensor grad_output(std::uint64_t global_count) override {
    return torch::full({}, 1.0 / static_cast<double>(global_count), device_);
  }
  void count(const TensorBatch&, const torch::Tensor&, const torch::Tensor&) override {}
  void update(std::uint64_t, double, KeptBuffers*) override {}
  StepOutcome drain() override { return {}; }

 private:
  const torch::Device device_;
};

// The median of the slowest rank over the steps after the first.
double seconds_of_step(comm::Communicator& world, StepRunner& step) {
  std::vector<double> seconds;
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    const double mine = step.run(i, 0).whole();
    const double slowest = world.all_reduce_value(mine, comm::Reduction::kMax);
    if (i > 0) seconds.push_back(slowest);
  }
  return median_of(std::move(seconds));
}

}  // namespace

double measure_bucket_mb(comm::Communicator& world, comm::Collectives& collectives,
                         ParameterArena& arena, model::Network& network, const ProbeConfig& probe) {
  if (world.size() == 1) return 0;
  KeptBuffers buffers(network);
  buffers.keep();
  SyntheticBatch batches(probe.images, probe.images, probe.shape, probe.channels_last,
                         arena.device());
  NoUpdate backend(arena.device());
  StepSettings settings;
  settings.precision = probe.precision;
  settings.wait = StepSettings::Wait::kAtEnd;
  double best = 0;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (const double size : kSizes) {
    Reducer exchange(arena, collectives, bytes_of_bucket(size));
    StepRunner step({network, arena, exchange, backend, batches}, settings);
    const double seconds = seconds_of_step(world, step);
    if (seconds > best_seconds * (1 - kGain)) continue;
    best = size;
    best_seconds = seconds;
  }
  buffers.restore();
  arena.zero_gradients();
  world.broadcast(Span<double>(&best, 1));
  return best;
}

}  // namespace tandem::train
