#include "tandem/train/optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/golden.hpp"
#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

// The numbers were produced by Python PyTorch (tests/golden/make_optimizer_fixtures.py). Its
// kernels fuse multiply and add where ours round twice, so a few roundings may differ, each of the
// size that the element or its change has had so far.
constexpr float kRoundings = 4;
constexpr float kRounding = 0x1p-24F;

// A tensor over memory of the test's; from_blob wants a mutable pointer.
torch::Tensor flat(const std::vector<float>& values) {
  return torch::from_blob(const_cast<float*>(values.data()),
                          {static_cast<std::int64_t>(values.size())}, torch::kFloat32);
}

using Make = std::unique_ptr<Optimizer> (*)(const OptimizerOptions&, std::size_t);

void expect_to_follow_pytorch(Make make) {
  const Json fixtures = testing::read_golden("optimizers.json");
  ASSERT_GE(fixtures["cases"].size(), 6U);
  for (const Json& one : fixtures["cases"]) {
    OptimizerOptions options;
    options.name = one["optimizer"];
    options.momentum = one["momentum"];
    options.nesterov = one["nesterov"];
    options.weight_decay = one["weight_decay"];
    options.beta1 = one["beta1"];
    options.beta2 = one["beta2"];
    options.epsilon = one["epsilon"];
    auto values = one["initial"].get<std::vector<float>>();
    const auto optimizer = make(options, values.size());
    std::vector<float> largest(values.size(), 0.0F);
    for (std::size_t step = 0; step < one["gradients"].size(); ++step) {
      const auto gradients = one["gradients"][step].get<std::vector<float>>();
      const float rate = one["lrs"][step];
      const auto before = values;
      optimizer->step(flat(values), flat(gradients), one["lrs"][step]);
      const auto expected = one["expected"][step].get<std::vector<float>>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        largest[i] = std::max({largest[i], std::abs(before[i]), std::abs(values[i] - before[i]),
                               std::abs(rate * gradients[i])});
        EXPECT_NEAR(values[i], expected[i], kRoundings * kRounding * largest[i])
            << one["name"] << ", step " << step << ", element " << i;
      }
    }
  }
}

TEST(Optimizer, FollowsPyTorch) { expect_to_follow_pytorch(make_optimizer); }

#ifdef TANDEM_TEST_DEVICE_FORM
std::unique_ptr<Optimizer> make_device_form(const OptimizerOptions& options, std::size_t size) {
  return make_device_optimizer(options, size, torch::kCPU);
}

TEST(DeviceOptimizer, FollowsPyTorch) { expect_to_follow_pytorch(make_device_form); }

TEST(DeviceOptimizer, AStepThatIsLeftOutChangesAndCountsNothing) {
  for (const char* name : {"sgd", "adamw"}) {
    OptimizerOptions options;
    options.name = name;
    options.weight_decay = 0.1;
    const auto optimizer = make_device_form(options, 16);
    const torch::Tensor values = torch::ones({16});
    optimizer->step(values, torch::ones({16}), 0.1, torch::zeros({}));
    std::vector<torch::Tensor> before{values.clone()};
    for (const StateArray& each : optimizer->state()) before.push_back(each.values.clone());
    optimizer->step(values, torch::full({16}, NAN), 0.1, torch::ones({}));
    EXPECT_TRUE(torch::equal(values, before[0])) << name;
    EXPECT_FALSE(torch::equal(values, torch::ones({16}))) << name;
    for (std::size_t i = 0; i < optimizer->state().size(); ++i) {
      EXPECT_TRUE(torch::equal(optimizer->state()[i].values, before[i + 1])) << name;
    }
    EXPECT_EQ(optimizer->steps(), 1U) << name;
  }
}
#endif

void expect_no_state_without_momentum(Make make) {
  OptimizerOptions options;
  options.momentum = 0;
  const auto plain = make(options, 4);
  EXPECT_TRUE(plain->state().empty());
  plain->set_steps(7);
  EXPECT_EQ(plain->steps(), 7U);
  options.name = "adagrad";
  EXPECT_THROW(make(options, 4), InternalError);
}

TEST(Optimizer, HasNoStateWithoutMomentum) {
  expect_no_state_without_momentum(make_optimizer);
#ifdef TANDEM_TEST_DEVICE_FORM
  expect_no_state_without_momentum(make_device_form);
#endif
}

TEST(Optimizer, OnTheHostLeavesNoStepOut) {
  const torch::Tensor values = torch::ones({4});
  EXPECT_THROW(make_optimizer({}, 4)->step(values, values, 0.1, torch::ones({})), InternalError);
}

TEST(Optimizer, LeavesPaddingZero) {
  for (const char* name : {"sgd", "adamw"}) {
    OptimizerOptions options;
    options.name = name;
    options.weight_decay = 0.1;
    std::vector<float> values(16, 0.0F);
    const std::vector<float> gradients(16, 0.0F);
    const auto optimizer = make_optimizer(options, values.size());
    for (int step = 0; step < 3; ++step) optimizer->step(flat(values), flat(gradients), 0.1);
    EXPECT_EQ(values, std::vector<float>(16, 0.0F)) << name;
  }
}

}  // namespace
}  // namespace tandem::train
