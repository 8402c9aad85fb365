#include "tandem/train/rate_scales.hpp"

#include <gtest/gtest.h>

#include "tandem/model/registry.hpp"

namespace tandem::train {
namespace {

OptimizerOptions options_of(const std::string& name) {
  OptimizerOptions options;
  options.name = name;
  options.weight_decay = 0.05;
  options.nesterov = name == "sgd";
  return options;
}

// Three steps by the host's optimizer: the parameters by name.
std::map<std::string, torch::Tensor> trained(const OptimizerOptions& options, double rate,
                                             const std::vector<RateScale>& scales) {
  torch::manual_seed(1);
  const auto network = model::make_network("lenet", {1, 12, 12}, 10);
  ParameterArena arena(*network, true);
  const auto optimizer = with_rate_scales(
      make_optimizer(options, static_cast<std::size_t>(arena.flat_values().numel())), arena,
      scales);
  const torch::Tensor gradients = torch::randn({arena.flat_values().numel()});
  for (int step = 0; step < 3; ++step) {
    optimizer->step(arena.flat_values(), gradients, rate * (step + 1));
  }
  EXPECT_EQ(optimizer->steps(), 3U);
  EXPECT_FALSE(optimizer->state().empty());
  std::map<std::string, torch::Tensor> values;
  for (const auto& each : network->named_parameters()) values[each.key()] = each.value().detach();
  return values;
}

// PyTorch's parameter groups: each group is as if all were trained at its rate.
TEST(RateScales, GiveEachLayerItsRate) {
  for (const char* name : {"sgd", "adamw"}) {
    const OptimizerOptions options = options_of(name);
    const auto slow = trained(options, 0.001, {}), fast = trained(options, 0.01, {});
    const auto mixed = trained(options, 0.01, {{"*", 0.1}, {"fc3.*", 1}, {"fc?.bias", 1}});
    const auto still = trained(options, 0.01, {{"conv1.*", 0}});
    const auto first = trained(options, 0, {});
    for (const auto& [parameter, value] : mixed) {
      const bool is_fast =
          parameter.rfind("fc3.", 0) == 0 || parameter == "fc1.bias" || parameter == "fc2.bias";
      const torch::Tensor& expected = (is_fast ? fast : slow).at(parameter);
      EXPECT_TRUE(is_fast ? torch::equal(value, expected)
                          : torch::allclose(value, expected, 1e-6, 1e-7))
          << name << " " << parameter << (value - expected).abs().max();
      EXPECT_FALSE(torch::allclose(fast.at(parameter), slow.at(parameter), 1e-6, 1e-7));
      const bool is_still = parameter.rfind("conv1.", 0) == 0;
      EXPECT_TRUE(torch::equal(still.at(parameter), (is_still ? first : fast).at(parameter)));
    }
  }
}

TEST(RateScales, ThatFitNothingLeaveTheOptimizer) {
  torch::manual_seed(1);
  const auto network = model::make_network("lenet", {1, 12, 12}, 10);
  const ParameterArena arena(*network, true);
  auto optimizer = make_optimizer({}, static_cast<std::size_t>(arena.flat_values().numel()));
  const Optimizer* const before = optimizer.get();
  EXPECT_EQ(with_rate_scales(std::move(optimizer), arena, {{"conv1.*", 1}}).get(), before);
}

}  // namespace
}  // namespace tandem::train
