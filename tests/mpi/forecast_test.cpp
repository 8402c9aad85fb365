// That a forecast is the same on every rank and counts what a step is made of. Not how near it
// comes, which tests/bench/scaling.py measures.
#include "tandem/train/forecast.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/mpi_test.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/replicate.hpp"
#include "tandem/train/shard_reducer.hpp"
#include "tandem/train/step_timing.hpp"
#include "tandem/train/step_windows.hpp"

namespace tandem::train {
namespace {

constexpr std::chrono::milliseconds kDelay{30};

// MPI with a delay in every sum: a link that is far slower than the steps.
class SlowLink final : public comm::ForwardingCollectives {
 public:
  using ForwardingCollectives::ForwardingCollectives;
  bool is_test_thread_safe() const override { return inner().is_test_thread_safe(); }
  std::string name() const override { return "slow"; }

 private:
  void do_all_reduce(comm::Buffer values) override {
    std::this_thread::sleep_for(kDelay);
    inner().all_reduce(values);
  }
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override {
    std::this_thread::sleep_for(kDelay);
    return inner().iall_reduce(values);
  }
};

class ForecastTest : public ::testing::Test {
 protected:
  ForecastContext context(std::optional<std::size_t> bucket_bytes) {
    return {world_, link_,        {*network_, arena_, exchange_, *backend_, batches_},
            {},     bucket_bytes, [this] { ++touched_; }};
  }
  void expect_equal_on_all_ranks(double value) {
    EXPECT_EQ(world_.all_reduce_value(value, comm::Reduction::kMin),
              world_.all_reduce_value(value, comm::Reduction::kMax));
  }
  comm::MpiCommunicator world_ = comm::MpiCommunicator::world();
  SlowLink link_{world_};
  model::NetworkPtr network_ = model::make_network("lenet", {1, 28, 28}, 10);
  ParameterArena arena_{*network_, true};
  ShardReducer exchange_{arena_, *network_, world_, false};  // measured without bucket_bytes
  std::unique_ptr<Optimizer> optimizer_ = make_optimizer({}, arena_.values().size());
  std::unique_ptr<StepBackend> backend_ = make_step_backend(arena_, *optimizer_, 0);
  SyntheticBatch batches_{
      4, 4 * static_cast<std::uint64_t>(world_.size()), {1, 28, 28}, true, torch::kCPU};
  int touched_ = 0;
};

TEST_F(ForecastTest, CountsComputingAndTheSumOfOneBucket) {
  const torch::Tensor before = arena_.flat_values().clone();
  const Forecast forecast = make_forecast(context(0));
  EXPECT_GT(forecast.compute.forward, 0);
  EXPECT_GT(forecast.compute.backward, 0);
  EXPECT_GT(forecast.compute.update, 0);
  EXPECT_GE(touched_, static_cast<int>(kForecastSteps));
  expect_equal_on_all_ranks(forecast.seconds());
  ASSERT_EQ(forecast.buckets.size(), 1U);
  EXPECT_EQ(forecast.buckets[0].bytes, 4.0 * static_cast<double>(arena_.values().size()));
  EXPECT_TRUE(torch::equal(arena_.flat_values(), before)) << "the learning rate is not 0";
  EXPECT_EQ(arena_.flat_gradients().abs().sum().item<float>(), 0);
  if (world_.size() == 1) {
    EXPECT_EQ(forecast.step().exchange, 0);
    return;
  }
  EXPECT_GE(forecast.step().exchange, 0.9 * std::chrono::duration<double>(kDelay).count());
  EXPECT_GT(forecast.agreement, 0);
}

TEST_F(ForecastTest, SeveralBucketsHaveSeveralLatenciesAndTheRanksDoThemThemselves) {
  const Forecast forecast = make_forecast(context(1));
  expect_equal_on_all_ranks(forecast.seconds());
  if (world_.size() == 1) return;
  ASSERT_EQ(forecast.buckets.size(), arena_.slots().size());
  EXPECT_EQ(forecast.buckets.back().seconds_before_end, 0);
  for (std::size_t i = 1; i < forecast.buckets.size(); ++i) {
    EXPECT_GE(forecast.buckets[i - 1].seconds_before_end, forecast.buckets[i].seconds_before_end);
  }
  // The delay is this thread's own. Other programs may disturb the measurement, but not thrice.
  double overlap = forecast.overlap;
  for (int i = 0; i < 2 && overlap >= 0.5; ++i) overlap = make_forecast(context(1)).overlap;
  EXPECT_LT(overlap, 0.5);
  const auto count = static_cast<double>(forecast.buckets.size());
  EXPECT_GE(forecast.seconds(), 0.5 * count * std::chrono::duration<double>(kDelay).count());
}

TEST_F(ForecastTest, OfVirtualRanksIsWhatTheirExchangeTakes) {
  if ((world_.size() & (world_.size() - 1)) != 0) return;  // not a number of ranks that they allow
  ForecastContext of_shards = context(std::nullopt);
  of_shards.settings.micro_batches = 2;
  const Forecast forecast = make_forecast(of_shards);
  EXPECT_TRUE(forecast.buckets.empty());
  EXPECT_GT(forecast.compute.exchange, 0);
  EXPECT_EQ(forecast.step().whole(), forecast.compute.whole());
}

// Ranks without images exchange statistics, too; otherwise those with images would wait for them.
TEST_F(ForecastTest, OfSynchronizedNormsIncludesRanksWithoutImages) {
  const model::NetworkPtr network = model::make_network("resnet9", {3, 16, 16}, 10);
  ParameterArena arena(*network, true);
  const auto norms = synchronize_norms(world_, *network);
  const auto optimizer = make_optimizer({}, arena.values().size());
  const auto backend = make_step_backend(arena, *optimizer, 0);
  SyntheticBatch batches(world_.rank() == 0 ? 2 : 0, 2, {3, 16, 16}, true, torch::kCPU);
  ForecastContext of_norms = {
      world_,
      world_,
      {*network, arena, exchange_, *backend, batches, nullptr, nullptr, norms.get()},
      {},
      0,
      [this] { ++touched_; }};
  expect_equal_on_all_ranks(make_forecast(of_norms).seconds());
  EXPECT_GE(touched_, static_cast<int>(kForecastSteps));
}

TEST_F(ForecastTest, WindowsHaveTheRunsExchangeAndNoMoreStepsThanTheRun) {
  const torch::Tensor before = arena_.flat_values().clone();
  Reducer exchange(arena_, link_, 0);
  data::TrainingPlan plan;
  plan.image_count = 1000;
  plan.global_batch = 4 * static_cast<std::uint64_t>(world_.size());
  plan.steps = 16;
  const StepContext step{*network_, arena_, exchange, *backend_, batches_};
  const StepWindows windows = time_windows(world_, step, {}, plan, [this] { ++touched_; });
  EXPECT_EQ(windows.images_per_second.size(), 8U);
  EXPECT_LE(touched_, 8 + 16);
  for (const double rate : windows.images_per_second) {
    EXPECT_GT(rate, 0);
    expect_equal_on_all_ranks(rate);
  }
  expect_equal_on_all_ranks(windows.parts.whole());
  EXPECT_GT(windows.parts.forward, 0);
  EXPECT_GT(windows.parts.backward, 0);
  EXPECT_GT(windows.agreement, 0);
  EXPECT_GT(windows.compute, 0);
  expect_equal_on_all_ranks(windows.compute);
  expect_equal_on_all_ranks(windows.compute_deviation);
  EXPECT_TRUE(torch::equal(arena_.flat_values(), before)) << "the learning rate is not 0";
  if (world_.size() == 1) return;
  const double delay = std::chrono::duration<double>(kDelay).count();
  EXPECT_GE(windows.parts.exchange, 0.9 * delay);
  const auto batch = static_cast<double>(plan.global_batch);
  EXPECT_LE(windows.images_per_second.front(), batch / (0.9 * delay));
}

}  // namespace
}  // namespace tandem::train
