// A step by the operators for GPUs, emulated on the CPU, against libtorch's operators.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/lone_communicator.hpp"
#include "tandem/core/random.hpp"
#include "tandem/model/fused_use.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/muon.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/step_runner.hpp"

namespace tandem::train {
namespace {

constexpr data::ImageShape kShape{3, 32, 32};
constexpr std::size_t kCount = 12;

struct Images {
  std::vector<std::uint8_t> pixels;
  std::vector<data::Label> labels;

  Images() : pixels(kCount * kShape.pixels()), labels(kCount) {
    CounterRandom random{5, kCount};
    for (std::uint8_t& each : pixels) each = static_cast<std::uint8_t>(random.below(256));
    for (data::Label& each : labels) each = static_cast<data::Label>(random.below(10));
  }
  ResidentBatches batches(std::uint64_t steps) const {
    data::TrainingPlan plan;
    plan.image_count = kCount;
    plan.global_batch = 4;
    plan.steps = steps;
    return {{kShape, {pixels.data(), pixels.size()}, {labels.data(), labels.size()}},
            data::Layout::kChannelsLast,
            {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}},
            {data::AugmentSpec::parse("reflect=4,flip"), 3},
            std::make_unique<data::TrainingSampler>(plan, 0, 1),
            torch::kCPU};
  }
};

struct Curve {
  std::vector<double> losses;
  std::int64_t correct = 0;
  torch::Tensor weights;
  std::vector<torch::Tensor> buffers;
};

Curve curve_of(const std::string& name, const std::string& optimizer_name) {
  constexpr std::uint64_t kSteps = 2;
  torch::manual_seed(4);
  const model::NetworkPtr network = model::make_network(name, {3, 32, 32}, 10);
  ParameterArena arena(*network, true);
  testing::LoneCommunicator alone;
  Reducer exchange(arena, alone, 0);
  OptimizerOptions options;
  options.name = optimizer_name;
  options.momentum = 0.6;
  options.nesterov = true;
  options.weight_decay = 1e-3;
  options.early_steps = 2;
  const auto optimizer = optimizer_name == "muon"
                             ? make_device_muon(options, arena, 0.1, network->early_parameters())
                             : make_device_optimizer(options, arena.values().size(), torch::kCPU);
  const auto backend = make_device_step_backend(arena, *optimizer, 1, model::Precision::kFp32);
  const Images images;
  ResidentBatches batches = images.batches(kSteps);
  StepSettings settings;
  settings.skip_nonfinite = true;
  settings.label_smoothing = 0.1;
  StepRunner runner({*network, arena, exchange, *backend, batches}, settings);
  Curve curve;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    runner.run(step, 0.01);
    const StepOutcome outcome = backend->drain();
    curve.losses.push_back(outcome.last.loss);
    curve.correct += outcome.sums.correct;
  }
  curve.weights = arena.flat_values().clone();
  for (const torch::Tensor& each : network->buffers()) curve.buffers.push_back(each.clone());
  return curve;
}

struct Fused {
  std::string network;
  std::string optimizer;
};

class FusedStep : public ::testing::TestWithParam<Fused> {};

TEST_P(FusedStep, HasTheCurveOfLibtorchsOperators) {
  const Curve expected = curve_of(GetParam().network, GetParam().optimizer);
  const model::fused::UseOnCpu use;
  const Curve found = curve_of(GetParam().network, GetParam().optimizer);
  for (std::size_t step = 0; step < expected.losses.size(); ++step) {
    EXPECT_NEAR(found.losses[step], expected.losses[step], 1e-3 * std::abs(expected.losses[step]))
        << "step " << step;
  }
  EXPECT_FALSE(torch::equal(found.weights, expected.weights)) << "the same operators computed";
  EXPECT_TRUE(torch::allclose(found.weights, expected.weights, 1e-2, 1e-3))
      << "up to " << (found.weights - expected.weights).abs().max().item<float>();
  for (std::size_t i = 0; i < found.buffers.size(); ++i) {
    EXPECT_TRUE(torch::allclose(found.buffers[i], expected.buffers[i], 1e-3, 1e-4)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, FusedStep,
                         ::testing::Values(Fused{"fastnet", "muon"}, Fused{"resnet9", "sgd"},
                                           Fused{"resnet18", "sgd"}, Fused{"lenet", "adamw"}),
                         [](const auto& each) {
                           return each.param.network + "With" + each.param.optimizer;
                         });

TEST(FusedBatches, HaveThePixelsOfLibtorchsOperatorsBitForBit) {
  const Images images;
  ResidentBatches plain = images.batches(3);
  ResidentBatches fused = images.batches(3);
  while (const auto expected = plain.next()) {
    const model::fused::UseOnCpu use;
    const auto found = fused.next();
    ASSERT_TRUE(found);
    EXPECT_TRUE(torch::equal(found->images, expected->images));
    EXPECT_TRUE(torch::equal(found->labels, expected->labels));
    EXPECT_EQ(found->images.strides(), expected->images.strides());
  }
}

}  // namespace
}  // namespace tandem::train
