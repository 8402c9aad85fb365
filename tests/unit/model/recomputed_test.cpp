#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tandem/model/autocast.hpp"
#include "tandem/model/registry.hpp"

namespace tandem::model {
namespace {

struct Trained {
  std::vector<torch::Tensor> gradients, buffers;
};

// A step backward from two images of 16 x 16 pixels: enough for blocks of every kind and stride.
Trained train_once(const std::string& name, Precision precision, bool recomputes,
                   const std::string& frozen = "none") {
  torch::manual_seed(1);
  const NetworkPtr network = make_network(name, {3, 16, 16}, 10);
  for (auto& parameter : network->named_parameters()) {
    if (parameter.key().rfind(frozen, 0) == 0) parameter.value().set_requires_grad(false);
  }
  if (recomputes) {
    EXPECT_TRUE(network->recompute_blocks());
  }
  const torch::Tensor images =
      torch::randn({2, 3, 16, 16}).contiguous(at::MemoryFormat::ChannelsLast);
  torch::Tensor logits;
  {
    const AutocastScope autocast(precision);
    logits = network->forward(images);
  }
  (logits.to(torch::kFloat32) * torch::randn({2, 10})).sum().backward();
  Trained result;
  for (const auto& parameter : network->named_parameters()) {
    if (!parameter.value().requires_grad()) continue;
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
    result.gradients.push_back(parameter.value().grad());
  }
  result.buffers = network->buffers();
  return result;
}

void expect_equal(const std::vector<torch::Tensor>& found,
                  const std::vector<torch::Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(torch::equal(found[i], expected[i])) << i;
  }
}

TEST(RecomputedBlocks, GiveTheSameBits) {
  for (const char* name : {"resnet18", "resnet50", "vit-tiny"}) {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      SCOPED_TRACE(std::string(name) + (precision == Precision::kBf16 ? " bf16" : " fp32"));
      const Trained kept = train_once(name, precision, false);
      const Trained again = train_once(name, precision, true);
      expect_equal(again.gradients, kept.gradients);
      expect_equal(again.buffers, kept.buffers);
    }
  }
}

TEST(RecomputedBlocks, FollowFrozenLayers) {
  const Trained kept = train_once("resnet18", Precision::kFp32, false, "conv1");
  const Trained again = train_once("resnet18", Precision::kFp32, true, "conv1");
  expect_equal(again.gradients, kept.gradients);
  const Trained frozen = train_once("vit-tiny", Precision::kFp32, false, "blocks.0");
  const Trained recomputed = train_once("vit-tiny", Precision::kFp32, true, "blocks.0");
  expect_equal(recomputed.gradients, frozen.gradients);
}

TEST(RecomputedBlocks, AreThoseOfSomeNetworks) {
  for (const std::string& name : network_names()) {
    EXPECT_EQ(make_network(name, {3, 32, 32}, 10)->recompute_blocks(), has_blocks(name)) << name;
  }
}

}  // namespace
}  // namespace tandem::model
