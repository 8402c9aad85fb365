#include "tandem/train/objective.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/golden.hpp"

namespace tandem::train {
namespace {

TEST(SummedCrossEntropy, FollowsPyTorch) {
  const Json fixtures = testing::read_golden("losses.json");
  ASSERT_GE(fixtures["cases"].size(), 4U);
  for (const Json& one : fixtures["cases"]) {
    const auto rows = one["logits"].get<std::vector<std::vector<float>>>();
    const auto labels = one["labels"].get<std::vector<std::int64_t>>();
    torch::Tensor logits = torch::empty(
        {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      logits[static_cast<std::int64_t>(i)].copy_(torch::tensor(rows[i]));
    }
    logits.requires_grad_();
    torch::Tensor weights;
    if (one.contains("class_weights")) {
      weights = torch::tensor(one["class_weights"].get<std::vector<float>>());
    }
    const torch::Tensor loss =
        summed_cross_entropy(logits, torch::tensor(labels), one["label_smoothing"], weights);
    EXPECT_NEAR(loss.item<double>(), one["expected_loss"].get<double>(), 1e-4) << one["name"];
    loss.backward();
    const auto gradient = one["expected_gradient"].get<std::vector<std::vector<float>>>();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      EXPECT_TRUE(torch::allclose(logits.grad()[static_cast<std::int64_t>(i)],
                                  torch::tensor(gradient[i]), 1e-5, 1e-6))
          << one["name"] << ", row " << i;
    }
  }
}

// tests/golden/make_augmentation_fixtures.py
TEST(SummedMixedCrossEntropy, FollowsPyTorchsForProbabilities) {
  const Json fixtures = testing::read_golden("augmentations.json");
  ASSERT_EQ(fixtures["losses"].size(), 2U);
  for (const Json& one : fixtures["losses"]) {
    const auto tensor = [](const Json& rows) {
      std::vector<torch::Tensor> parts;
      for (const Json& row : rows) parts.push_back(torch::tensor(row.get<std::vector<float>>()));
      return torch::stack(parts);
    };
    const auto labels = [&one](const char* name) {
      return torch::tensor(one[name].get<std::vector<std::int64_t>>());
    };
    const torch::Tensor logits = tensor(one["logits"]).requires_grad_();
    const MixedLabels mixed{labels("labels"), labels("others"),
                            torch::tensor(one["shares"].get<std::vector<float>>())};
    const torch::Tensor loss = summed_mixed_cross_entropy(logits, mixed, one["label_smoothing"]);
    EXPECT_NEAR(loss.item<double>(), one["loss"].get<double>(), 1e-5);
    loss.backward();
    EXPECT_TRUE(torch::allclose(logits.grad(), tensor(one["gradient"]), 1e-5, 1e-6));
  }
}

// tests/golden/make_multi_label_fixtures.py
TEST(SummedBinaryCrossEntropy, FollowsPyTorch) {
  const Json fixtures = testing::read_golden("multi_label.json");
  ASSERT_EQ(fixtures["losses"].size(), 4U);
  for (const Json& one : fixtures["losses"]) {
    const auto tensor = [](const Json& rows) {
      std::vector<torch::Tensor> parts;
      for (const Json& row : rows) parts.push_back(torch::tensor(row.get<std::vector<float>>()));
      return torch::stack(parts);
    };
    const torch::Tensor logits = tensor(one["logits"]).requires_grad_();
    const Json& weights = one["positive_weights"];
    const torch::Tensor loss = summed_binary_cross_entropy(
        logits, tensor(one["targets"]), one["label_smoothing"],
        weights.is_null() ? torch::Tensor() : torch::tensor(weights.get<std::vector<float>>()));
    EXPECT_NEAR(loss.item<double>(), one["loss"].get<double>(), 1e-5);
    loss.backward();
    EXPECT_TRUE(torch::allclose(logits.grad(), tensor(one["gradient"]), 1e-5, 1e-6));
  }
}

TEST(PredictedClasses, TakesTheFirstOfEqualLogits) {
  const auto logits = torch::tensor({{1.0F, 3.0F, 3.0F}, {5.0F, 5.0F, 1.0F}, {0.0F, 1.0F, 2.0F}});
  EXPECT_EQ(predicted_classes(logits), (std::vector<std::int64_t>{1, 0, 2}));
}

TEST(CountInTop, TakesTheFirstOfEqualLogitsAndNoNan) {
  const auto counted = [](std::vector<float> logits, std::int64_t label) {
    const torch::Tensor row = torch::tensor(logits).unsqueeze(0);
    return count_in_top(row, torch::tensor({label})).item<std::int64_t>();
  };
  const std::vector<float> rising{0, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(counted(rising, 1), 0);
  EXPECT_EQ(counted(rising, 2), 1);
  EXPECT_EQ(counted(rising, 6), 1);
  const std::vector<float> equal(7, 1.0F);
  EXPECT_EQ(counted(equal, 4), 1);
  EXPECT_EQ(counted(equal, 5), 0);
  const std::vector<float> broken{NAN, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(counted(broken, 0), 0);
  EXPECT_EQ(counted(broken, 6), 1);
  EXPECT_EQ(counted(std::vector<float>(7, NAN), 0), 0);
  const torch::Tensor both = torch::tensor(rising).repeat({2, 1});
  EXPECT_EQ(count_in_top(both, torch::tensor({0, 6}, torch::kInt64)).item<std::int64_t>(), 1);
}

}  // namespace
}  // namespace tandem::train
