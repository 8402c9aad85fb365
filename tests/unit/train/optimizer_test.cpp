#include "tandem/train/optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/golden.hpp"

namespace tandem::train {
namespace {

// The numbers were produced by Python PyTorch (tests/golden/make_optimizer_fixtures.py). Its
// kernels fuse multiply and add where ours round twice, so a few roundings may differ, each of the
// size that the element or its change has had so far.
constexpr float kRoundings = 4;
constexpr float kRounding = 0x1p-24F;

TEST(Optimizer, FollowsPyTorch) {
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
    const auto optimizer = make_optimizer(options, values.size());
    std::vector<float> largest(values.size(), 0.0F);
    for (std::size_t step = 0; step < one["gradients"].size(); ++step) {
      const auto gradients = one["gradients"][step].get<std::vector<float>>();
      const float rate = one["lrs"][step];
      const auto before = values;
      optimizer->step(Span<float>(values), Span<const float>(gradients), one["lrs"][step]);
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

TEST(Optimizer, LeavesPaddingZero) {
  for (const char* name : {"sgd", "adamw"}) {
    OptimizerOptions options;
    options.name = name;
    options.weight_decay = 0.1;
    std::vector<float> values(16, 0.0F);
    const std::vector<float> gradients(16, 0.0F);
    const auto optimizer = make_optimizer(options, values.size());
    for (int step = 0; step < 3; ++step) {
      optimizer->step(Span<float>(values), Span<const float>(gradients), 0.1);
    }
    EXPECT_EQ(values, std::vector<float>(16, 0.0F)) << name;
  }
}

}  // namespace
}  // namespace tandem::train
