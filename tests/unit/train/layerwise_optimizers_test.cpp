#include "tandem/train/layerwise_optimizers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/golden.hpp"
#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

class FixtureParameters : public torch::nn::Module {
 public:
  FixtureParameters(const Json& fixture, const Json& one) {
    for (const Json& each : fixture["shapes"]) {
      const auto shape = each[1].get<std::vector<std::int64_t>>();
      const std::string name = each[0];
      const auto values = one["initial"][name].get<std::vector<float>>();
      register_parameter(name, torch::tensor(values).view(shape));
    }
  }
};

OptimizerOptions layerwise_options_of(const Json& one) {
  OptimizerOptions options;
  options.name = one["optimizer"];
  options.momentum = one["momentum"];
  options.nesterov = one["nesterov"];
  options.weight_decay = one["weight_decay"];
  options.beta1 = one["beta1"];
  options.beta2 = one["beta2"];
  options.epsilon = one["epsilon"];
  options.trust_coefficient = one["trust_coefficient"];
  return options;
}

struct LayerwiseForm {
  std::string name;
  bool channels_last;
  decltype(&make_layerwise_optimizer) make;
};

class LayerwiseTest : public ::testing::TestWithParam<LayerwiseForm> {
 protected:
  struct Run {
    Run(const Json& fixture, const Json& one)
        : network(fixture, one),
          arena(network, GetParam().channels_last),
          optimizer(GetParam().make(layerwise_options_of(one), arena)) {}
    void step(const Json& one, std::size_t number, const torch::Tensor& skipped = {}) {
      for (const auto& item : network.named_parameters()) {
        const auto values = one["gradients"][number][item.key()].get<std::vector<float>>();
        item.value().grad().copy_(torch::tensor(values).view(item.value().sizes()));
      }
      optimizer->step(arena.flat_values(), arena.flat_gradients(), one["rates"][number], skipped);
    }
    std::vector<torch::Tensor> arrays() {
      std::vector<torch::Tensor> all{arena.flat_values().clone()};
      for (const StateArray& each : optimizer->state()) all.push_back(each.values.clone());
      return all;
    }
    FixtureParameters network;
    ParameterArena arena;
    std::unique_ptr<Optimizer> optimizer;
  };

  const Json fixture_ = testing::read_golden("layerwise.json");
};

void expect_same_arrays(const std::vector<torch::Tensor>& found,
                        const std::vector<torch::Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(torch::equal(found[i], expected[i]));
}

// Numbers of timm (tests/golden/make_layerwise_fixtures.py).
TEST_P(LayerwiseTest, FollowsTimm) {
  const torch::NoGradGuard no_grad;
  ASSERT_GE(fixture_["cases"].size(), 7U);
  for (const Json& one : fixture_["cases"]) {
    Run run(fixture_, one);
    for (std::size_t number = 0; number < one["expected"].size(); ++number) {
      run.step(one, number);
      for (const auto& item : run.network.named_parameters()) {
        const auto expected = one["expected"][number][item.key()].get<std::vector<float>>();
        const torch::Tensor found = item.value().flatten().contiguous();
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_NEAR(found[static_cast<std::int64_t>(i)].item<float>(), expected[i],
                      2e-6 * std::max(1.0F, std::abs(expected[i])))
              << one["name"] << ", " << item.key() << ", step " << number << ", element " << i;
        }
      }
    }
    EXPECT_EQ(run.optimizer->steps(), 4U);
  }
}

TEST_P(LayerwiseTest, GoesOnFromItsState) {
  const torch::NoGradGuard no_grad;
  for (const Json& one : fixture_["cases"]) {
    Run whole(fixture_, one);
    Run second_half(fixture_, one);
    for (std::size_t number = 0; number < 2; ++number) whole.step(one, number);
    second_half.arena.flat_values().copy_(whole.arena.flat_values());
    for (std::size_t i = 0; i < whole.optimizer->state().size(); ++i) {
      second_half.optimizer->state()[i].values.copy_(whole.optimizer->state()[i].values);
    }
    second_half.optimizer->set_steps(2);
    for (std::size_t number = 2; number < 4; ++number) {
      whole.step(one, number);
      second_half.step(one, number);
    }
    expect_same_arrays(second_half.arrays(), whole.arrays());
  }
}

TEST_P(LayerwiseTest, KnowsTheTwo) {
  const Json one = fixture_["cases"][0];
  FixtureParameters network(fixture_, one);
  const ParameterArena arena(network, false);
  OptimizerOptions options = layerwise_options_of(one);
  EXPECT_TRUE(is_layerwise(options));
  options.name = "sgd";
  EXPECT_FALSE(is_layerwise(options));
  EXPECT_THROW(GetParam().make(options, arena), InternalError);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, LayerwiseTest,
    ::testing::Values(LayerwiseForm{"Planar", false, make_layerwise_optimizer},
                      LayerwiseForm{"ChannelsLast", true, make_layerwise_optimizer},
                      LayerwiseForm{"PlanarForDevices", false, make_device_layerwise_optimizer},
                      LayerwiseForm{"ChannelsLastForDevices", true,
                                    make_device_layerwise_optimizer}),
    [](const auto& form) { return form.param.name; });

class DeviceLayerwiseTest : public LayerwiseTest {};

TEST_P(DeviceLayerwiseTest, AStepThatIsLeftOutChangesAndCountsNothing) {
  const torch::NoGradGuard no_grad;
  for (const Json& one : fixture_["cases"]) {
    Run run(fixture_, one);
    run.step(one, 0, torch::zeros({}));
    const std::vector<torch::Tensor> before = run.arrays();
    run.arena.flat_gradients().fill_(NAN);
    run.optimizer->step(run.arena.flat_values(), run.arena.flat_gradients(), 0.1, torch::ones({}));
    expect_same_arrays(run.arrays(), before);
    EXPECT_EQ(run.optimizer->steps(), 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, DeviceLayerwiseTest,
                         ::testing::Values(LayerwiseForm{"ForDevices", true,
                                                         make_device_layerwise_optimizer}),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace tandem::train
