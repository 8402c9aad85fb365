#include "tandem/train/weight_average.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/golden.hpp"
#include "support/lone_communicator.hpp"
#include "support/snapshot_of.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/snapshot.hpp"
#include "tandem/train/step_timing.hpp"
#include "tandem/train/warm_up.hpp"

namespace tandem::train {
namespace {

constexpr data::ImageShape kFewPixels{1, 4, 4};

// Logits from the images' means; the buffers change in each forward pass of training.
class NetworkWithBuffers final : public model::Network {
 public:
  explicit NetworkWithBuffers(const std::vector<float>& weight = std::vector<float>(10, 0.5F),
                              const std::vector<float>& buffer = {1, 2, 3}) {
    weight_ = register_parameter("weight", torch::tensor(weight));
    running_mean_ = register_buffer("running_mean", torch::tensor(buffer));
    batches_ = register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
  }
  torch::Tensor forward(torch::Tensor images) override {
    if (is_training()) {
      running_mean_.add_(1);
      batches_.add_(1);
    }
    return images.mean({1, 2, 3}).unsqueeze(1) * weight_.unsqueeze(0);
  }
  torch::Tensor weight_, running_mean_, batches_;
};

struct Averaged {
  explicit Averaged(double decay, const std::vector<float>& weight = std::vector<float>(10, 0.5F),
                    const std::vector<float>& buffer = {1, 2, 3})
      : network(weight, buffer), arena(network, false), average(make(decay)) {}

  WeightAverage make(double decay) {
    OptimizerOptions options;
    options.momentum = 0;
    return {make_optimizer(options, arena.values().size()), arena, network, decay};
  }
  void update(const torch::Tensor& skipped = {}) {
    average.step(arena.flat_values(), arena.flat_gradients(), 0.1, skipped);
  }
  torch::Tensor weights() { return arena.view_like(arena.slots()[0], average.state()[0].values); }
  torch::Tensor buffers() { return average.unlike_parameters().at(0).values; }

  NetworkWithBuffers network;
  ParameterArena arena;
  WeightAverage average;
};

void expect_near_golden(const torch::Tensor& found, const Json& expected,
                        const std::string& where) {
  const auto wanted = expected.get<std::vector<float>>();
  ASSERT_EQ(static_cast<std::size_t>(found.numel()), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[static_cast<std::int64_t>(i)].item<float>(), wanted[i], 1e-6) << where;
  }
}

TEST(WeightAverage, FollowsPyTorchsAveragedModel) {
  const Json fixtures = testing::read_golden("averages.json");
  ASSERT_EQ(fixtures["cases"].size(), 2U);
  const torch::NoGradGuard no_grad;
  for (const Json& one : fixtures["cases"]) {
    Averaged run(one["decay"], one["initial_weight"], one["initial_buffer"]);
    for (std::size_t step = 0; step < one["weights"].size(); ++step) {
      const std::string where = one["name"].get<std::string>() + ", step " + std::to_string(step);
      run.network.weight_.copy_(torch::tensor(one["weights"][step].get<std::vector<float>>()));
      run.network.running_mean_.copy_(
          torch::tensor(one["buffers"][step].get<std::vector<float>>()));
      run.update();
      expect_near_golden(run.weights(), one["expected_weights"][step], where);
      expect_near_golden(run.buffers(), one["expected_buffers"][step], where);
    }
    EXPECT_EQ(run.average.steps(), one["weights"].size());
  }
}

// On a device the trainer learns of it only afterwards, and the buffers may be NaN.
TEST(WeightAverage, AStepThatIsSkippedChangesNothing) {
  class Counting final : public Optimizer {
   public:
    void step(const torch::Tensor&, const torch::Tensor&, double, const torch::Tensor&) override {}
    std::vector<StateArray> state() override { return {}; }
    std::uint64_t steps() const override { return 0; }
    void set_steps(std::uint64_t) override {}
  };
  NetworkWithBuffers network;
  ParameterArena arena(network, false);
  WeightAverage average(std::make_unique<Counting>(), arena, network, 0.5);
  const auto step = [&](float skipped) {
    average.step_at(arena.flat_values(), arena.flat_gradients(), torch::zeros({}, torch::kFloat64),
                    torch::full({}, skipped));
  };
  const torch::NoGradGuard no_grad;
  network.weight_.fill_(1.5);
  network.running_mean_.fill_(NAN);
  step(1);
  EXPECT_TRUE(torch::equal(average.unlike_parameters()[0].values, torch::tensor({1.F, 2.F, 3.F})));
  EXPECT_EQ(average.state()[0].values[0].item<float>(), 0.5);
  network.running_mean_.fill_(3);
  step(0);
  EXPECT_TRUE(torch::equal(average.unlike_parameters()[0].values, torch::tensor({2.F, 2.5F, 3.F})));
  EXPECT_EQ(average.state()[0].values[0].item<float>(), 1);
}

TEST(WeightAverage, IsTheModelOfASnapshotAndIsRestoredBitForBit) {
  const torch::NoGradGuard no_grad;
  Averaged run(0.75);
  run.network.weight_.fill_(1.5);
  run.network.running_mean_.fill_(9);
  run.network.batches_.fill_(4);
  run.update();
  std::map<std::string, torch::Tensor> taken;
  const auto tensors = testing::snapshot_of(run.network, run.arena, run.average);
  for (const model::NamedTensor& each : tensors) taken[each.name] = each.tensor;
  EXPECT_EQ(taken.at("weight")[0].item<float>(), 0.75);
  EXPECT_EQ(taken.at("optimizer.trained_weights.weight")[0].item<float>(), 1.5);
  EXPECT_EQ(taken.at("running_mean")[0].item<float>(), 3);
  EXPECT_EQ(taken.at("optimizer.trained_buffers")[0].item<float>(), 9);
  EXPECT_EQ(taken.at("num_batches_tracked").item<std::int64_t>(), 4);
  EXPECT_EQ(run.network.weight_[0].item<float>(), 1.5) << "training goes on with its own weights";

  Averaged other(0.75);
  restore_snapshot(tensors, other.network, other.arena, other.average);
  for (Averaged* each : {&run, &other}) each->update();
  EXPECT_TRUE(torch::equal(other.network.weight_, run.network.weight_));
  EXPECT_TRUE(torch::equal(other.network.running_mean_, run.network.running_mean_));
  EXPECT_TRUE(torch::equal(other.weights(), run.weights()));
  EXPECT_TRUE(torch::equal(other.buffers(), run.buffers()));

  auto incomplete = tensors;
  incomplete.pop_back();
  EXPECT_THROW(restore_snapshot(incomplete, other.network, other.arena, other.average), DataError);
  EXPECT_TRUE(torch::equal(other.network.weight_, run.network.weight_)) << "nothing was exchanged";
}

TEST(WeightAverage, AWarmUpLeavesIt) {
  testing::LoneCommunicator comm;
  Averaged run(0.5);
  Reducer reducer(run.arena, comm, 0);
  const auto backend = make_step_backend(run.arena, run.average, 0);
  SyntheticBatch noise(4, 4, kFewPixels, false, torch::kCPU);
  const torch::Tensor weights = run.weights().clone();
  const torch::Tensor buffers = run.buffers().clone();
  warm_up({run.network, run.arena, reducer, *backend, noise}, {}, run.average, 3);
  EXPECT_TRUE(torch::equal(run.weights(), weights));
  EXPECT_TRUE(torch::equal(run.buffers(), buffers));
  EXPECT_TRUE(torch::equal(run.network.running_mean_, torch::tensor({1.F, 2.F, 3.F})));
}

}  // namespace
}  // namespace tandem::train
