#include "tandem/model/state_dict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/registry.hpp"

namespace tandem::model {
namespace {

std::vector<std::string> names_of(const torch::nn::Module& module) {
  std::vector<std::string> names;
  for (const NamedTensor& entry : state_dict(module)) names.push_back(entry.name);
  return names;
}

std::string data_error(torch::nn::Module& module, const std::vector<NamedTensor>& tensors) {
  try {
    load_state_dict(module, tensors);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

NetworkPtr make_simple_for_cifar() { return make_network("simple", {3, 32, 32}, 10); }

// Registers a child, then a buffer, then parameters: Python still lists parameters, buffers,
// children.
class Mixed : public torch::nn::Module {
 public:
  Mixed() {
    register_module("child", torch::nn::Linear(1, 2));
    register_buffer("z_buffer", torch::tensor({3}, torch::kInt64));
    register_parameter("second", torch::ones({2}));
    register_parameter("first", torch::ones({3}));
    register_buffer("a_buffer", torch::zeros({1}));
  }
};

TEST(StateDict, OrdersAsPython) {
  const Mixed module;
  EXPECT_EQ(names_of(module), (std::vector<std::string>{"second", "first", "z_buffer", "a_buffer",
                                                        "child.weight", "child.bias"}));
}

TEST(StateDict, TellsBuffersFromParameters) {
  for (const NamedTensor& entry : state_dict(Mixed())) {
    EXPECT_EQ(entry.is_buffer, entry.name.find("buffer") != std::string::npos) << entry.name;
  }
}

TEST(StateDict, SharesMemoryWithoutGradient) {
  const Mixed module;
  const NamedTensor first = state_dict(module).front();
  EXPECT_FALSE(first.tensor.requires_grad());
  EXPECT_EQ(first.tensor.data_ptr(), module.parameters().front().data_ptr());
}

TEST(StateDict, HasTheTutorialsNamesForSimple) {
  EXPECT_EQ(names_of(*make_simple_for_cifar()),
            (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                      "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias",
                                      "fc3.weight", "fc3.bias"}));
}

TEST(StateDict, HasTorchvisionsNamesForResNet18) {
  std::vector<std::string> expected{"conv1.weight"};
  const auto add_batch_norm = [&expected](const std::string& prefix) {
    for (const char* name :
         {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}) {
      expected.push_back(prefix + "." + name);
    }
  };
  add_batch_norm("bn1");
  for (const std::string layer : {"layer1", "layer2", "layer3", "layer4"}) {
    for (const std::string block : {".0", ".1"}) {
      for (const std::string number : {"1", "2"}) {
        expected.push_back(layer + block + ".conv" + number + ".weight");
        add_batch_norm(layer + block + ".bn" + number);
      }
      if (layer != "layer1" && block == ".0") {
        expected.push_back(layer + ".0.downsample.0.weight");
        add_batch_norm(layer + ".0.downsample.1");
      }
    }
  }
  expected.insert(expected.end(), {"fc.weight", "fc.bias"});
  EXPECT_EQ(expected.size(), 122U);
  EXPECT_EQ(names_of(*make_network("resnet18", {3, 32, 32}, 10)), expected);
}

TEST(StateDict, HasPermanentNamesForResNet9) {
  std::vector<std::string> expected;
  for (const std::string block :
       {"prep", "layer1", "res1.0", "res1.1", "layer2", "layer3", "res3.0", "res3.1"}) {
    for (const char* name : {"conv.weight", "bn.weight", "bn.bias", "bn.running_mean",
                             "bn.running_var", "bn.num_batches_tracked"}) {
      expected.push_back(block + "." + name);
    }
  }
  expected.emplace_back("linear.weight");
  EXPECT_EQ(names_of(*make_network("resnet9", {3, 32, 32}, 10)), expected);
}

TEST(LoadStateDict, CopiesEverything) {
  const NetworkPtr source = make_network("resnet9", {1, 28, 28}, 10);
  source->forward(torch::randn({4, 1, 28, 28}));  // moves the buffers
  const NetworkPtr target = make_network("resnet9", {1, 28, 28}, 10);
  ASSERT_NE(weights_sha256(*target), weights_sha256(*source));
  load_state_dict(*target, state_dict(*source));
  EXPECT_EQ(weights_sha256(*target), weights_sha256(*source));
  EXPECT_TRUE(target->parameters().front().requires_grad());
}

TEST(LoadStateDict, TakesAnyOrderAndFloatingType) {
  const NetworkPtr network = make_simple_for_cifar();
  std::vector<NamedTensor> tensors = state_dict(*network);
  std::reverse(tensors.begin(), tensors.end());
  for (NamedTensor& entry : tensors)
    entry.tensor = torch::full_like(entry.tensor, 0.5).to(torch::kBFloat16);
  load_state_dict(*network, tensors);
  for (const NamedTensor& entry : state_dict(*network)) {
    EXPECT_TRUE(torch::equal(entry.tensor, torch::full_like(entry.tensor, 0.5))) << entry.name;
    EXPECT_EQ(entry.tensor.scalar_type(), torch::kFloat32) << entry.name;
  }
}

TEST(LoadStateDict, NamesEveryFaultAndCopiesNothing) {
  const NetworkPtr network = make_simple_for_cifar();
  const std::string before = weights_sha256(*network);
  std::vector<NamedTensor> tensors;
  for (const NamedTensor& entry : state_dict(*network)) {
    tensors.push_back({entry.name, torch::zeros_like(entry.tensor), false});
  }
  tensors[2].name = "conv3.weight";                       // conv2.weight
  tensors[5].tensor = torch::zeros({121});                // fc1.bias
  tensors[7].tensor = torch::zeros({84}, torch::kInt64);  // fc2.bias
  tensors.push_back({"fc3.bias", torch::zeros({10}), false});

  const std::string message = data_error(*network, tensors);
  for (const char* fault :
       {"'conv2.weight' is missing", "'conv3.weight' is not part of it",
        "'fc1.bias' is Float [121], expected Float [120]",
        "'fc2.bias' is Long [84], expected Float [84]", "'fc3.bias' is given twice"}) {
    EXPECT_NE(message.find(fault), std::string::npos) << fault << "\nnot in: " << message;
  }
  EXPECT_EQ(weights_sha256(*network), before);
}

TEST(LoadStateDict, KeepsAMessageShort) {
  const NetworkPtr network = make_network("resnet18", {3, 32, 32}, 10);
  const std::string message = data_error(*network, {});
  EXPECT_NE(message.find("114 more"), std::string::npos) << message;
  EXPECT_LT(message.size(), 500U);
}

TEST(LoadStateDict, RefusesAScalarForAVector) {
  torch::nn::Linear layer(3, 1);
  EXPECT_NE(data_error(*layer, {{"weight", torch::zeros({1, 3}), false},
                                {"bias", torch::zeros({}), false}}),
            "no error");
}

TEST(WeightsSha256, HashesBytesByName) {
  const Mixed module;
  std::string bytes;  // a_buffer, child.bias, child.weight, first, second, z_buffer
  const auto append = [&bytes](const auto* data, std::size_t count) {
    bytes.append(reinterpret_cast<const char*>(data), count * sizeof *data);
  };
  const auto parameters = module.named_parameters();
  const float zero = 0;
  const float ones[] = {1, 1, 1, 1, 1};
  const std::int64_t three = 3;
  append(&zero, 1);
  append(parameters["child.bias"].data_ptr<float>(), 2);
  append(parameters["child.weight"].data_ptr<float>(), 2);
  append(ones, 5);
  append(&three, 1);
  EXPECT_EQ(weights_sha256(module), sha256_hex(bytes));
}

TEST(WeightsSha256, IgnoresTheMemoryFormatAndSeesEveryBit) {
  const NetworkPtr network = make_simple_for_cifar();
  const std::string before = weights_sha256(*network);
  torch::Tensor filters = network->parameters().front();
  filters.set_data(filters.detach().contiguous(torch::MemoryFormat::ChannelsLast));
  ASSERT_FALSE(filters.is_contiguous());
  EXPECT_EQ(weights_sha256(*network), before);

  auto* last = network->parameters().back().data_ptr<float>() + 9;
  std::uint32_t bits = 0;
  std::memcpy(&bits, last, sizeof bits);
  bits ^= 1;
  std::memcpy(last, &bits, sizeof bits);
  EXPECT_NE(weights_sha256(*network), before);
}

}  // namespace
}  // namespace tandem::model
