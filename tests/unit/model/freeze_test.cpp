#include "tandem/model/freeze.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tandem/core/error.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/state_dict.hpp"

namespace tandem::model {
namespace {

NetworkPtr small_resnet() { return make_network("resnet18", {3, 9, 9}, 10); }

std::string message_of(const std::vector<std::string>& patterns) {
  try {
    freeze(*small_resnet(), patterns);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Freeze, TakesThePatternsOfAShell) {
  const NetworkPtr network = small_resnet();
  freeze(*network, {"conv1.*", "layer[12].*", "layer4.?.conv2.weight"});
  std::set<std::string> trained;
  for (const auto& each : network->named_parameters()) {
    const std::string& name = each.key();
    const bool is_frozen = name.rfind("conv1.", 0) == 0 || name.rfind("layer1.", 0) == 0 ||
                           name.rfind("layer2.", 0) == 0 || name == "layer4.0.conv2.weight" ||
                           name == "layer4.1.conv2.weight";
    EXPECT_EQ(each.value().requires_grad(), !is_frozen) << name;
  }
}

TEST(Freeze, NamesAPatternThatFitsNothing) {
  const std::string message = message_of({"layer1.*", "backbone.*"});
  EXPECT_NE(
      message.find("--freeze: no parameter fits 'backbone.*'; the parameters are conv1.weight"),
      std::string::npos)
      << message;
  EXPECT_NE(message_of({"*"}).find("none is left to train"), std::string::npos);
  EXPECT_EQ(message_of({}), "no error");
}

TEST(Freeze, NamesAPatternThatFitsFrozenParametersAlone) {
  const NetworkPtr network = small_resnet();
  freeze(*network, {"conv1.*", "layer1.*"});
  EXPECT_NO_THROW(require_trained(*network, {"*", "layer*", "fc.*"}, "--lr-scale"));
  try {
    require_trained(*network, {"fc.*", "layer1.0.*"}, "--lr-scale");
    FAIL() << "an error was expected";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--lr-scale: all parameters that fit 'layer1.0.*' are frozen, so it has no "
                 "effect; leave it out, or freeze fewer");
  }
}

TEST(Freeze, KeepsStatisticsOfFrozenBatchNormalization) {
  const NetworkPtr network = small_resnet();
  freeze(*network, {"layer1.*", "bn1.weight"});
  network->eval();
  network->train();
  const auto copies_of = [&] {
    std::vector<NamedTensor> copies = state_dict(*network);
    for (NamedTensor& each : copies) each.tensor = each.tensor.clone();
    return copies;
  };
  const std::vector<NamedTensor> before = copies_of();
  network->forward(torch::randn({4, 3, 9, 9}));
  std::size_t moved = 0;
  const std::vector<NamedTensor> after = copies_of();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_same = torch::equal(before[i].tensor, after[i].tensor);
    if (before[i].name.rfind("layer1.", 0) == 0) {
      EXPECT_TRUE(is_same) << before[i].name;
    }
    moved += is_same ? 0 : 1;
  }
  EXPECT_EQ(moved, 3U * (1 + 5 + 5 + 5)) << "bn1, whose bias is trained, and layers 2 to 4";
}

TEST(Freeze, GivesFrozenLayersNoGradientAndTheOthersTheSame) {
  const auto gradients = [](bool freezes) {
    torch::manual_seed(2);
    const NetworkPtr network = make_network("vit-tiny", {3, 8, 8}, 10);
    if (freezes) freeze(*network, {"blocks.?.*", "*_embed*", "cls_token"});
    network->forward(torch::ones({2, 3, 8, 8})).square().sum().backward();
    return network->named_parameters();
  };
  const auto all = gradients(false), some = gradients(true);
  EXPECT_FALSE(some["blocks.9.mlp.fc1.weight"].grad().defined());
  EXPECT_FALSE(some["cls_token"].grad().defined());
  for (const char* name : {"blocks.10.attn.qkv.weight", "head.bias"}) {
    // libtorch rounds otherwise where no gradient is asked for.
    EXPECT_TRUE(torch::allclose(some[name].grad(), all[name].grad(), 1e-4, 1e-5)) << name;
  }
}

TEST(KeepHead, ReplacesOneOfOtherClasses) {
  const NetworkPtr network = make_network("resnet18", {3, 9, 9}, 10);
  std::vector<NamedTensor> tensors = state_dict(*make_network("resnet18", {3, 9, 9}, 7));
  EXPECT_EQ(keep_head(*network, tensors), (std::vector<std::string>{"fc.weight", "fc.bias"}));
  const torch::Tensor head = network->named_parameters()["fc.weight"].detach().clone();
  load_state_dict(*network, tensors);
  EXPECT_TRUE(torch::equal(network->named_parameters()["fc.weight"], head));
  EXPECT_TRUE(torch::equal(network->named_parameters()["conv1.weight"], tensors.front().tensor));
}

TEST(KeepHead, AddsOneThatIsNotThere) {
  const NetworkPtr network = make_network("resnet9", {3, 16, 16}, 10);
  std::vector<NamedTensor> tensors = state_dict(*make_network("resnet9", {3, 16, 16}, 10));
  tensors.pop_back();
  EXPECT_EQ(keep_head(*network, tensors), std::vector<std::string>{"linear.weight"});
  load_state_dict(*network, tensors);
}

TEST(KeepHead, LeavesAllOtherWeightsAsTheyAre) {
  const NetworkPtr network = make_network("resnet18", {3, 9, 9}, 10);
  std::vector<NamedTensor> tensors = state_dict(*small_resnet());
  EXPECT_TRUE(keep_head(*network, tensors).empty()) << "of as many classes";
  tensors.pop_back();
  EXPECT_TRUE(keep_head(*network, tensors).empty()) << "half of a head is damaged";
  tensors = state_dict(*make_network("resnet50", {3, 9, 9}, 7));
  EXPECT_TRUE(keep_head(*network, tensors).empty()) << "of another width";
  EXPECT_THROW(load_state_dict(*network, tensors), DataError);
}

}  // namespace
}  // namespace tandem::model
