// PowerSGD on one rank, where a sum over all ranks changes nothing.
#include "tandem/train/power_sgd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/lone_communicator.hpp"
#include "support/power_sgd_net.hpp"
#include "tandem/train/snapshot.hpp"
#include "train/exchange/power_sgd_loops.hpp"
#include "train/parameters/finite.hpp"

namespace tandem::train {
namespace {

constexpr std::size_t kRank = 2;

// Counts the floats that a step sums.
class CountingRank final : public testing::LoneCommunicator {
 public:
  std::size_t floats = 0;

 private:
  void do_all_reduce_by(comm::Reduction, comm::Buffer values) override { floats += values.size; }
};

class PowerSgdTest : public ::testing::Test {
 protected:
  torch::Tensor gradient(const std::string& name) {
    return network_.named_parameters()[name].grad();
  }
  // What is in no message yet.
  torch::Tensor error(const std::string& name) {
    for (const model::NamedTensor& each : sums_.gather_state(ranks_)) {
      if (each.name == "optimizer.powersgd_error." + name) return each.tensor[0];
    }
    return {};
  }
  void reduce() { sums_.all_reduce(arena_.gradients()); }
  void step(std::uint64_t number) {
    testing::bring_gradients(arena_, 0, number);
    reduce();
  }

  const torch::NoGradGuard no_grad_;
  CountingRank ranks_;
  testing::PowerSgdNet network_;
  ParameterArena arena_{network_, true};
  PowerSgdAllReduce sums_{ranks_, arena_, kRank, 7};
};

TEST_F(PowerSgdTest, GivesBackAGradientOfItsRank) {
  torch::manual_seed(3);
  const torch::Tensor low = torch::randn({24, 2}).mm(torch::randn({2, 50}));
  const torch::Tensor lower = torch::randn({16, 1}).mm(torch::randn({1, 75})).view({16, 3, 5, 5});
  testing::bring_gradients(arena_, 0, 0);
  const torch::Tensor square = gradient("square").clone();
  const torch::Tensor bias = gradient("bias").clone();
  gradient("matrix").copy_(low);
  gradient("filter").copy_(lower);
  reduce();
  EXPECT_LT((gradient("matrix") - low).abs().max().item<float>(), 2e-5);
  EXPECT_LT((gradient("filter") - lower).abs().max().item<float>(), 2e-5);
  EXPECT_TRUE(torch::equal(gradient("square"), square));
  EXPECT_TRUE(torch::equal(gradient("bias"), bias));
}

TEST_F(PowerSgdTest, SendsWhatTheFormulaSays) {
  step(0);
  EXPECT_EQ(sums_.floats_per_step(), testing::kPowerSgdFloats);
  EXPECT_EQ(ranks_.floats, testing::kPowerSgdFloats);
  const PowerSgdAllReduce of_many(ranks_, arena_, 20, 7);  // compresses nothing
  EXPECT_EQ(of_many.floats_per_step(), arena_.parameter_count());
}

TEST_F(PowerSgdTest, LosesNothingOverTheSteps) {
  torch::Tensor brought = torch::zeros({16, 3, 5, 5});
  torch::Tensor given = torch::zeros({16, 3, 5, 5});
  for (std::uint64_t number = 0; number < 40; ++number) {
    testing::bring_gradients(arena_, 0, number);
    brought += gradient("filter");
    reduce();
    given += gradient("filter");
    EXPECT_GT(error("filter").norm().item<float>(), 0.1);
  }
  EXPECT_LT((brought - given - error("filter")).abs().max().item<float>(), 1e-4);
}

TEST_F(PowerSgdTest, GivesAConstantGradientInTheMean) {
  constexpr int kSteps = 200;
  torch::Tensor given = torch::zeros({24, 50});
  for (int i = 0; i < kSteps; ++i) {
    step(5);
    given += gradient("matrix");
  }
  testing::bring_gradients(arena_, 0, 5);
  const torch::Tensor difference = given / kSteps - gradient("matrix");
  EXPECT_LT((difference.norm() / gradient("matrix").norm()).item<float>(), 0.1);
}

TEST_F(PowerSgdTest, FindsAGradientAfterAStepWithoutOne) {
  arena_.zero_gradients();
  reduce();
  EXPECT_EQ(gradient("matrix").abs().max().item<float>(), 0);
  step(1);
  EXPECT_GT(gradient("matrix").norm().item<float>(), 1);
}

TEST_F(PowerSgdTest, ForgetsAGradientThatIsNotFinite) {
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    step(0);
    testing::bring_gradients(arena_, 0, 1);
    gradient("matrix")[3][4].fill_(value);
    reduce();
    EXPECT_FALSE(all_finite(arena_.gradients())) << "the update is to be left out";
    EXPECT_EQ(error("matrix").abs().max().item<float>(), 0);
    EXPECT_GT(error("filter").abs().max().item<float>(), 0);
    step(2);
    EXPECT_TRUE(all_finite(arena_.gradients()));
    EXPECT_GT(gradient("matrix").norm().item<float>(), 1);
  }
}

TEST_F(PowerSgdTest, LeavesAFrozenParameterAlone) {
  step(0);
  network_.named_parameters()["matrix"].set_requires_grad(false);
  arena_.zero_gradients();
  reduce();
  EXPECT_EQ(gradient("matrix").abs().max().item<float>(), 0);
}

TEST_F(PowerSgdTest, GoesOnFromItsStateBitForBit) {
  for (std::uint64_t number = 0; number < 3; ++number) step(number);
  const std::vector<model::NamedTensor> state = sums_.gather_state(ranks_);
  ASSERT_EQ(state.size(), 4U);
  for (const model::NamedTensor& each : state) {
    EXPECT_TRUE(is_power_sgd_tensor(each.name)) << each.name;
    EXPECT_TRUE(is_optimizer_tensor(each.name)) << each.name << ": no model has it";
  }
  EXPECT_FALSE(is_power_sgd_tensor("optimizer.velocity.powersgd_q.matrix"));
  step(3);
  const torch::Tensor expected = arena_.flat_gradients().clone();
  sums_.reset_error_feedback();
  step(3);
  EXPECT_FALSE(torch::equal(arena_.flat_gradients(), expected));
  sums_.restore_state(ranks_, state);
  step(3);
  EXPECT_TRUE(torch::equal(arena_.flat_gradients(), expected));
}

TEST_F(PowerSgdTest, BeginsAnewWithErrorsOfOtherRanksAndQOfAnotherRank) {
  step(3);
  const torch::Tensor expected = arena_.flat_gradients().clone();
  std::vector<model::NamedTensor> state = sums_.gather_state(ranks_);
  for (model::NamedTensor& each : state) each.tensor = torch::cat({each.tensor, each.tensor});
  sums_.restore_state(ranks_, state);
  step(3);
  EXPECT_TRUE(torch::equal(arena_.flat_gradients(), expected));
}

TEST(Orthonormalize, MakesColumnsOrthonormalInTheirOrder) {
  constexpr std::size_t kSize = 100;
  std::vector<float> vectors(4 * kSize);
  CounterRandom random{1};
  for (float& each : vectors) each = static_cast<float>(random.normal());
  for (std::size_t i = 0; i < kSize; ++i)
    vectors[kSize + i] = 3 * vectors[i] + 1e-3F * vectors[kSize + i];
  for (std::size_t i = 0; i < kSize; ++i) vectors[2 * kSize + i] = -2 * vectors[i];
  const std::vector<float> first(vectors.begin(), vectors.begin() + kSize);
  orthonormalize(vectors.data(), 4, kSize);
  const auto product = [&](std::size_t one, std::size_t other) {
    return precise_dot({vectors.data() + one * kSize, kSize},
                       {vectors.data() + other * kSize, kSize});
  };
  for (const std::size_t one : {0, 1, 3}) {
    for (const std::size_t other : {0, 1, 3}) {
      EXPECT_NEAR(product(one, other), one == other ? 1 : 0, 1e-6) << one << " " << other;
    }
  }
  EXPECT_EQ(product(2, 2), 0) << "depends on the first";
  EXPECT_NEAR(precise_dot({first.data(), kSize}, {vectors.data(), kSize}),
              std::sqrt(sum_of_squares({first.data(), kSize})), 1e-4);
}

TEST(Orthonormalize, KeepsWhatIsNotFinite) {
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> vectors(40, 1);
    vectors[7] = value;
    orthonormalize(vectors.data(), 2, 20);
    EXPECT_FALSE(all_finite({vectors.data(), 20}));
    EXPECT_FALSE(all_finite({vectors.data() + 20, 20}));
  }
}

TEST(Dot, AddsEveryProduct) {
  for (const std::size_t size : {0, 1, 31, 32, 75, 200}) {
    std::vector<float> one(size);
    std::vector<float> other(size, 2);
    for (std::size_t i = 0; i < size; ++i) one[i] = static_cast<float>(i);
    const double expected = static_cast<double>(size) * (static_cast<double>(size) - 1);
    EXPECT_EQ(dot(one.data(), other.data(), size), size == 0 ? 0 : expected);
    EXPECT_EQ(precise_dot({one.data(), size}, {other.data(), size}), size == 0 ? 0 : expected);
  }
}

}  // namespace
}  // namespace tandem::train
