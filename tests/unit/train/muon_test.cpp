#include "tandem/train/muon.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/golden.hpp"

namespace tandem::train {
namespace {

class Parameters : public torch::nn::Module {
 public:
  explicit Parameters(const Json& fixture) {
    for (const Json& one : fixture["shapes"]) {
      const auto shape = one[1].get<std::vector<std::int64_t>>();
      const std::string name = one[0];
      const auto values = fixture["initial"][name].get<std::vector<float>>();
      register_parameter(name, torch::tensor(values).view(shape));
    }
  }
};

OptimizerOptions options_of(const Json& fixture) {
  OptimizerOptions options;
  const Json& from = fixture["options"];
  options.name = "muon";
  options.momentum = from["momentum"];
  options.nesterov = true;
  options.weight_decay = from["weight_decay"];
  options.head_rate = from["head_rate"];
  options.bias_rate = from["bias_rate"];
  options.sgd_momentum = from["sgd_momentum"];
  options.early_steps = from["early_steps"];
  return options;
}

class MuonTest : public ::testing::TestWithParam<bool> {
 protected:
  MuonTest() : network_(fixture_), arena_(network_, GetParam()) {}

  void set_gradients(std::size_t step) {
    for (const auto& item : network_.named_parameters()) {
      const auto values = fixture_["gradients"][step][item.key()].get<std::vector<float>>();
      item.value().grad().copy_(torch::tensor(values).view(item.value().sizes()));
    }
  }
  double rate(std::size_t step) const {
    return fixture_["peak"].get<double>() * fixture_["shares"][step].get<double>();
  }
  std::unique_ptr<Optimizer> make() const {
    return make_muon(options_of(fixture_), arena_, fixture_["peak"], {"early"});
  }
  void step(Optimizer& optimizer, std::size_t number, const torch::Tensor& skipped = {}) {
    set_gradients(number);
    optimizer.step(arena_.flat_values(), arena_.flat_gradients(), rate(number), skipped);
  }

  const Json fixture_ = testing::read_golden("muon.json");
  Parameters network_;
  ParameterArena arena_;
};

// In either layout of filters: an orthogonal matrix stays one when its columns are exchanged.
TEST_P(MuonTest, FollowsThePublishedFormulas) {
  const torch::NoGradGuard no_grad;
  const auto optimizer = make();
  for (std::size_t number = 0; number < fixture_["expected"].size(); ++number) {
    step(*optimizer, number);
    for (const auto& item : network_.named_parameters()) {
      const auto expected = fixture_["expected"][number][item.key()].get<std::vector<float>>();
      const torch::Tensor found = item.value().flatten().contiguous();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(found[static_cast<std::int64_t>(i)].item<float>(), expected[i], 2e-5)
            << item.key() << ", step " << number << ", element " << i;
      }
    }
  }
  EXPECT_EQ(optimizer->steps(), 4U);
}

TEST_P(MuonTest, GoesOnFromItsState) {
  const torch::NoGradGuard no_grad;
  const auto whole = make();
  for (std::size_t number = 0; number < 2; ++number) step(*whole, number);
  const torch::Tensor values = arena_.flat_values().clone();
  const torch::Tensor velocity = whole->state().at(0).values.clone();
  for (std::size_t number = 2; number < 4; ++number) step(*whole, number);
  const torch::Tensor expected = arena_.flat_values().clone();

  const auto second_half = make();
  arena_.flat_values().copy_(values);
  second_half->state().at(0).values.copy_(velocity);
  second_half->set_steps(2);
  for (std::size_t number = 2; number < 4; ++number) step(*second_half, number);
  EXPECT_TRUE(torch::equal(arena_.flat_values(), expected));
}

TEST_P(MuonTest, AStepThatIsLeftOutChangesAndCountsNothing) {
  const torch::NoGradGuard no_grad;
  const auto optimizer = make();
  step(*optimizer, 0, torch::zeros({}));
  const torch::Tensor values = arena_.flat_values().clone();
  const torch::Tensor velocity = optimizer->state().at(0).values.clone();
  arena_.flat_gradients().fill_(NAN);
  optimizer->step(arena_.flat_values(), arena_.flat_gradients(), 0.1, torch::ones({}));
  EXPECT_TRUE(torch::equal(arena_.flat_values(), values));
  EXPECT_TRUE(torch::equal(optimizer->state().at(0).values, velocity));
  EXPECT_EQ(optimizer->steps(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Layouts, MuonTest, ::testing::Bool(), [](const auto& layout) {
  return layout.param ? "ChannelsLast" : "Planar";
});

TEST(Orthogonalised, BringsSingularValuesNearOne) {
  torch::manual_seed(3);
  for (const auto& [rows, columns] : {std::pair{16, 40}, std::pair{40, 16}, std::pair{16, 16}}) {
    const torch::Tensor matrix = torch::randn({rows, columns});
    const torch::Tensor found = std::get<1>(torch::svd(orthogonalised(matrix)));
    // Small ones of a square matrix need more iterations than these three.
    if (rows != columns) {
      EXPECT_GT(found.min().item<float>(), 0.6) << rows << "x" << columns;
    }
    EXPECT_LT(found.max().item<float>(), 1.25) << rows << "x" << columns;
  }
}

}  // namespace
}  // namespace tandem::train
