// One step, on one rank.
#include "tandem/train/step_runner.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "support/lone_communicator.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/step_timing.hpp"

namespace tandem::train {
namespace {

constexpr data::ImageShape kShape{1, 28, 28};
constexpr std::uint64_t kImages = 4;

class Phases final : public comm::Progress {
 public:
  void report(std::uint64_t step, comm::Phase phase) override { seen.emplace_back(step, phase); }
  void touch() override {}
  std::vector<std::pair<std::uint64_t, comm::Phase>> seen;
};

// The same images each time, as a part of a global batch.
class Repeated final : public BatchSource {
 public:
  explicit Repeated(std::uint64_t global_count)
      : batch_(*SyntheticBatch(kImages, kImages, kShape, false, torch::kCPU).next()) {
    batch_.request.global_count = global_count;
  }
  std::optional<TensorBatch> next() override { return batch_; }

 private:
  TensorBatch batch_;
};

// The weights after a step whose global batch is `micro_batches` times the same batch.
torch::Tensor weights_after(std::uint64_t micro_batches, comm::Progress* progress = nullptr) {
  torch::manual_seed(1);
  testing::LoneCommunicator comm;
  const model::NetworkPtr network = model::make_network("lenet", {1, 28, 28}, 10);
  ParameterArena arena(*network, false);
  Reducer reducer(arena, comm, 0);
  const auto optimizer = make_optimizer({}, arena.values().size());
  const auto backend = make_step_backend(arena, *optimizer, 0);
  Repeated batches(micro_batches * kImages);
  StepSettings settings;
  settings.micro_batches = micro_batches;
  settings.wait = StepSettings::Wait::kAfterEachPhase;
  StepRunner runner({*network, arena, reducer, *backend, batches}, settings, progress);
  const torch::Tensor before = arena.flat_values().clone();
  const StepCost cost = runner.run(6, 0.1);
  EXPECT_GT(cost.forward, 0);
  EXPECT_GT(cost.backward, 0);
  EXPECT_FALSE(torch::equal(arena.flat_values(), before));
  return arena.flat_values().clone();
}

TEST(StepRunner, EqualMicroBatchesMakeTheStepOfOne) {
  EXPECT_TRUE(torch::allclose(weights_after(2), weights_after(1), 1e-5, 1e-7));
}

TEST(StepRunner, ReportsThePhasesOfTheStepUnderWay) {
  using comm::Phase;
  Phases phases;
  weights_after(2, &phases);
  const std::vector<std::pair<std::uint64_t, Phase>> expected{
      {7, Phase::kData},    {7, Phase::kCompute},  {7, Phase::kData},
      {7, Phase::kCompute}, {7, Phase::kExchange}, {7, Phase::kUpdate}};
  EXPECT_EQ(phases.seen, expected);
}

}  // namespace
}  // namespace tandem::train
