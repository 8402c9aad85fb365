#include "tandem/train/snapshot.hpp"

#include <gtest/gtest.h>

#include "support/snapshot_of.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/registry.hpp"

namespace tandem::train {
namespace {

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    for (const StateArray& each : optimizer_->state()) each.values.fill_(0.25);
  }
  void restore(const std::vector<model::NamedTensor>& tensors) {
    restore_snapshot(tensors, *network_, arena_, *optimizer_);
  }
  // Why these tensors are refused; checks that nothing was changed.
  std::string refusal(const std::vector<model::NamedTensor>& tensors) {
    const std::vector<model::NamedTensor> before = taken();
    try {
      restore(tensors);
    } catch (const DataError& error) {
      expect_equal(taken(), before);
      return error.what();
    }
    return "restored";
  }
  std::vector<model::NamedTensor> taken() {
    return testing::snapshot_of(*network_, arena_, *optimizer_);
  }
  void expect_equal(const std::vector<model::NamedTensor>& found,
                    const std::vector<model::NamedTensor>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, expected[i].name);
      EXPECT_TRUE(torch::equal(found[i].tensor, expected[i].tensor)) << found[i].name;
    }
  }

  model::NetworkPtr network_ = model::make_network("lenet", {1, 28, 28}, 10);
  ParameterArena arena_{*network_, true};
  std::unique_ptr<Optimizer> optimizer_ = make_optimizer({}, arena_.values().size());
};

TEST_F(SnapshotTest, IsACopyThatIsRestoredBitForBit) {
  const std::vector<model::NamedTensor> before = taken();
  for (float& value : arena_.values()) value += 1;
  for (const StateArray& each : optimizer_->state()) each.values.fill_(0.5);
  restore(before);
  expect_equal(taken(), before);
  for (float& value : arena_.values()) value += 1;
  EXPECT_FALSE(torch::equal(taken().front().tensor, before.front().tensor));
}

TEST_F(SnapshotTest, RefusesWhatIsNotThisOptimizersAndTakesNothing) {
  const std::vector<model::NamedTensor> whole = taken();
  const std::string name = whole.back().name;
  ASSERT_TRUE(is_optimizer_tensor(name));
  std::vector<model::NamedTensor> other = whole;
  other.pop_back();
  EXPECT_EQ(refusal(other), "tensor '" + name + "' is missing");
  other = whole;
  other.back().tensor = other.back().tensor.flatten().repeat({2});
  EXPECT_EQ(refusal(other), "tensor '" + name + "' has not the parameter's shape and type");
  other = whole;
  other.back().tensor = other.back().tensor.to(torch::kFloat64);
  EXPECT_EQ(refusal(other), "tensor '" + name + "' has not the parameter's shape and type");
  other = whole;
  other.push_back({optimizer_tensor_name("second_moment", "x"), torch::ones({1}), false});
  EXPECT_NE(refusal(other).find(" tensors of an optimizer were found, "), std::string::npos);
}

}  // namespace
}  // namespace tandem::train
