#include "tandem/model/script_network.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/serialization/import.h>

#include "support/script_modules.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/state_dict.hpp"

namespace tandem::model {
namespace {

constexpr InputShape kShape{1, 8, 6};
constexpr std::int64_t kClasses = 3;
constexpr ScriptNetOptions kBatchNorm{true, 0};

torch::jit::Module net(ScriptNetOptions options = {}) {
  torch::manual_seed(1);
  return script_net(kShape, kClasses, options);
}

NetworkPtr network_of(const torch::jit::Module& module) {
  return make_script_network("net.pt", bytes_of(module), kShape, kClasses);
}

torch::Tensor images(std::int64_t count = 5) {
  torch::manual_seed(2);
  return torch::randn({count, kShape.channels, kShape.height, kShape.width});
}

torch::Tensor tensor_of(const Network& network, const std::string& name) {
  for (const NamedTensor& each : state_dict(network)) {
    if (each.name == name) return each.tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

std::string refusal_of(const std::string& bytes, torch::Device device = torch::kCPU) {
  try {
    make_script_network("net.pt", bytes, kShape, kClasses, device);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

void expect_refused(const torch::jit::Module& module, const std::string& part) {
  const std::string message = refusal_of(bytes_of(module));
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.rfind("net.pt: ", 0), 0U) << message;
}

TEST(ScriptNetwork, IsNamedByAFile) {
  for (const char* file : {"net.pt", "./net", "models/net.torchscript"}) {
    EXPECT_TRUE(is_script_file(file)) << file;
  }
  for (const char* name : {"resnet18", "net.pth", ""}) EXPECT_FALSE(is_script_file(name)) << name;
}

TEST(ScriptNetwork, HasTheNamesThatPythonHas) {
  std::vector<std::string> names;
  for (const NamedTensor& each : state_dict(*network_of(net(kBatchNorm)))) {
    names.push_back(each.name);
  }
  const std::vector<std::string> expected{"conv.weight",
                                          "conv.bias",
                                          "bn.weight",
                                          "bn.bias",
                                          "bn.running_mean",
                                          "bn.running_var",
                                          "bn.num_batches_tracked",
                                          "fc.weight",
                                          "fc.bias"};
  EXPECT_EQ(names, expected);
}

TEST(ScriptNetwork, ComputesWhatTheModuleDoes) {
  torch::jit::Module module = net(kBatchNorm);
  const NetworkPtr network = network_of(module);
  EXPECT_TRUE(network->is_training());
  const torch::Tensor input = images();
  EXPECT_TRUE(network->forward(input).equal(module.forward({input}).toTensor()));
  network->eval();
  module.eval();
  EXPECT_TRUE(network->forward(input).equal(module.forward({input}).toTensor()));
}

TEST(ScriptNetwork, ComesWithItsStateUntouchedByTheTrial) {
  torch::jit::Module module = net(kBatchNorm);
  module.forward({images()});
  const NetworkPtr network = network_of(module);
  EXPECT_EQ(tensor_of(*network, "bn.num_batches_tracked").item<std::int64_t>(), 1);
  for (const auto& parameter : network->named_parameters()) {
    EXPECT_FALSE(parameter.value().grad().defined()) << parameter.key();
  }
}

TEST(ScriptNetwork, MovesBatchNormInTrainingAlone) {
  const NetworkPtr network = network_of(net(kBatchNorm));
  network->forward(images());
  const torch::Tensor moved = tensor_of(*network, "bn.running_mean").clone();
  EXPECT_GT(moved.abs().max().item<float>(), 0);
  EXPECT_EQ(tensor_of(*network, "bn.num_batches_tracked").item<std::int64_t>(), 1);
  network->eval();
  network->forward(images());
  EXPECT_TRUE(tensor_of(*network, "bn.running_mean").equal(moved));
}

TEST(ScriptNetwork, DropsInTrainingAloneAndAsTheKeySays) {
  const NetworkPtr network = network_of(net({false, 0.5}));
  const torch::Tensor input = images();
  const auto drawn_by = [&](std::uint64_t key) {
    network->seed_dropout(key);
    return network->forward(input);
  };
  const torch::Tensor first = drawn_by(1);
  EXPECT_FALSE(drawn_by(2).equal(first));
  EXPECT_TRUE(drawn_by(1).equal(first));
  network->eval();
  EXPECT_TRUE(drawn_by(1).equal(drawn_by(2)));
}

TEST(ScriptNetwork, DoesNotDependOnTheCallsBefore) {
  const NetworkPtr network = network_of(net(kBatchNorm));
  const torch::Tensor input = images();
  std::vector<torch::Tensor> gradients;
  for (int i = 0; i < 6; ++i) {
    network->zero_grad();
    network->forward(input).square().sum().backward();
    gradients.push_back(network->named_parameters()["conv.weight"].grad().clone());
    EXPECT_TRUE(gradients.back().equal(gradients.front())) << "call " << i + 1;
  }
}

// y = (x w) count; count = count + 1
torch::jit::Module counting_net() {
  torch::manual_seed(1);
  const std::int64_t pixels = kShape.channels * kShape.height * kShape.width;
  return script_part("Counting",
                     "def forward(self, x):\n"
                     "  y = torch.mm(x.flatten(1), self.weight) * self.count\n"
                     "  self.count = self.count + 1\n"
                     "  return y\n",
                     {{"weight", torch::randn({pixels, kClasses})}}, {{"count", torch::ones({1})}});
}

TEST(ScriptNetwork, FollowsWhatForwardAssigns) {
  const NetworkPtr network = network_of(counting_net());
  const torch::Tensor input = images();
  const torch::Tensor plain = input.flatten(1).mm(tensor_of(*network, "weight"));
  for (int count = 1; count <= 3; ++count) {
    network->zero_grad();
    const torch::Tensor logits = network->forward(input);
    EXPECT_TRUE(logits.allclose(plain * count)) << count;
    EXPECT_EQ(tensor_of(*network, "count").item<float>(), count + 1);
    logits.sum().backward();  // needs the count as it was
    const torch::Tensor expected = input.flatten(1).sum(0) * count;
    const torch::Tensor gradient = network->named_parameters()["weight"].grad();
    EXPECT_TRUE(gradient.select(1, 0).allclose(expected)) << count;
  }
  std::vector<NamedTensor> state = state_dict(*network);
  for (NamedTensor& each : state) each.tensor = each.tensor.clone();
  state.back().tensor.fill_(10);
  load_state_dict(*network, state);
  EXPECT_TRUE(network->forward(input).allclose(plain * 10, 1e-4, 1e-4));
}

TEST(ScriptNetwork, LeavesFrozenParametersAsTheyAre) {
  torch::jit::Module module = net();
  module.attr("conv").toModule().attr("weight").toTensor().set_requires_grad(false);
  const NetworkPtr network = network_of(module);
  EXPECT_EQ(network->parameters().size(), 3U);
  EXPECT_FALSE(tensor_of(*network, "conv.weight").requires_grad());
  network->forward(images()).sum().backward();
}

TEST(ScriptNetwork, IsWrittenWithItsWeightsAndInEvaluationMode) {
  const NetworkPtr network = network_of(net({true, 0.5}));
  network->forward(images());
  {
    const torch::NoGradGuard no_grad;
    network->named_parameters()["fc.bias"].add_(3);
  }
  std::istringstream stream(to_script(*network));
  EXPECT_TRUE(network->is_training());
  torch::jit::Module written = torch::jit::load(stream);
  EXPECT_FALSE(written.is_training());
  network->eval();
  EXPECT_TRUE(written.forward({images()}).toTensor().equal(network->forward(images())));
}

TEST(ScriptNetwork, WarnsOfModesThatAreFixed) {
  EXPECT_EQ(script_warning(*network_of(net({true, 0.5}))), "");
  const std::string warning = script_warning(*network_of(script_part(
      "Fixed",
      "def forward(self, x):\n"
      "  x = torch.mm(x.flatten(1), self.w)\n"
      "  if x.size(0) > 2:\n"
      "    x = torch.dropout(x, 0.5, True)\n"
      "  x = torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)\n"
      "  return torch.batch_norm(x, None, None, self.mean, self.var, False, 0.1, 1e-5,\n"
      "                          False)\n",
      {{"w", torch::randn({48, kClasses})}},
      {{"mean", torch::zeros({kClasses})}, {"var", torch::ones({kClasses})}})));
  EXPECT_EQ(warning.rfind("net.pt: 2 of its BatchNorm and dropout operators do the same", 0), 0U)
      << warning;
}

TEST(ScriptNetwork, RefusesWhatIsNoTorchScript) {
  EXPECT_NE(refusal_of("not a file of Python").find("is not a TorchScript file"),
            std::string::npos);
  const std::string whole = bytes_of(net());
  for (const std::size_t size : {whole.size() / 2, whole.size() - 1}) {
    EXPECT_NE(refusal_of(whole.substr(0, size)), "no error") << size;
  }
}

// The device of metadata, which every machine has, stands for a GPU. The trial takes all tensors.
TEST(ScriptNetwork, IsLoadedWholeToADeviceAndStaysThere) {
  const std::int64_t pixels = kShape.channels * kShape.height * kShape.width;
  torch::jit::Module module = script_part("Scaled", "", {{"w", torch::ones({pixels, kClasses})}},
                                          {{"b", torch::ones({kClasses})}});
  module.register_attribute("neither", c10::TensorType::get(), torch::ones({kClasses}));
  module.define(
      "def forward(self, x):\n"
      "  return torch.mm(x.flatten(1), self.w) * self.b * self.neither\n");
  const auto graph = module.get_method("forward").graph();
  torch::jit::Value* const constant = graph->insertConstant(torch::ones({kClasses}));
  graph->return_node()->replaceInput(
      0, graph->insert(torch::jit::aten::mul, {graph->outputs().front(), constant}));

  const NetworkPtr network =
      make_script_network("net.pt", bytes_of(module), kShape, kClasses, torch::kMeta);
  for (const NamedTensor& each : state_dict(*network)) EXPECT_TRUE(each.tensor.is_meta());
  network->eval();
  EXPECT_TRUE(network->forward(images().to(torch::kMeta)).is_meta());
  network->to(torch::kMeta);
  EXPECT_THROW(network->to(torch::kCPU), InternalError);
}

TEST(ScriptNetwork, RefusesWhatCannotBeTrained) {
  expect_refused(script_part("A", "", {{"w", torch::ones({1})}}), "it has no forward()");
  expect_refused(script_part("B", "def forward(self, x):\n  return x\n", {}),
                 "it has no parameters");

  torch::jit::Module frozen = torch::jit::Module("__torch__.tests.C");
  frozen.define("def forward(self, x):\n  return x\n");
  expect_refused(frozen, "it has no 'training'");

  torch::jit::Module none = net();
  for (const at::Tensor& parameter : none.parameters()) parameter.set_requires_grad(false);
  expect_refused(none, "none of its parameters requires a gradient");

  torch::jit::Module half = net();
  torch::jit::Module linear = half.attr("fc").toModule();
  linear.setattr("bias", torch::zeros({kClasses}, torch::kFloat16).set_requires_grad(true));
  expect_refused(half, "parameter 'fc.bias' is Half, Float was expected");

  torch::jit::Module tied = net();
  const torch::jit::Module conv = tied.attr("conv").toModule();
  torch::jit::Module other = script_part("D", "def forward(self, x):\n  return x\n",
                                         {{"w", conv.attr("weight").toTensor()}});
  tied.register_module("other", other);
  expect_refused(tied, "'conv.weight' and 'other.w' are one tensor");
  EXPECT_EQ(refusal_of(bytes_of(tied), torch::kMeta), refusal_of(bytes_of(tied)));
}

TEST(ScriptNetwork, RefusesWhatFailsTheTrial) {
  const auto refused = [](InputShape shape, std::int64_t classes, const std::string& part) {
    torch::manual_seed(1);
    expect_refused(script_net(shape, classes), part);
  };
  refused(kShape, 7, "for 2 images its forward() returns Float [2, 7], Float [2, 3] was expected");
  refused({3, 8, 6}, kClasses, "its forward() failed: ");

  torch::jit::Module unused = net();
  unused.register_parameter("spare", torch::ones({1}).set_requires_grad(true), false);
  expect_refused(unused, "its output does not depend on the parameter 'spare'");

  const NamedTensors weight{{"w", torch::ones({48, kClasses})}};
  expect_refused(script_part("E",
                             "def forward(self, x):\n"
                             "  return torch.argmax(torch.mm(x.flatten(1), self.w), 1)\n",
                             weight),
                 "its forward() returns Long [2]");
  expect_refused(script_part("F",
                             "def forward(self, x):\n"
                             "  y = torch.mm(x.flatten(1), self.w)\n"
                             "  return y, y\n",
                             weight),
                 "its forward() returns a Tuple");
  // Only in evaluation, or only of one image: an answer that is counted would lie outside.
  expect_refused(script_part("I",
                             "def forward(self, x):\n"
                             "  y = torch.mm(x.flatten(1), self.w)\n"
                             "  if self.training:\n"
                             "    return y\n"
                             "  return torch.cat([y, y], 1)\n",
                             weight),
                 "for 1 image in evaluation its forward() returns Float [1, 6], Float [1, 3]");
  expect_refused(script_part("J",
                             "def forward(self, x):\n"
                             "  return torch.mm(x.flatten(1), self.w).squeeze(0)\n",
                             weight),
                 "for 1 image in evaluation its forward() returns Float [3], Float [1, 3]");
  expect_refused(script_part("G",
                             "def forward(self, x):\n"
                             "  y = torch.mm(x.flatten(1), self.w)\n"
                             "  self.w = self.w * 2\n"
                             "  return y\n",
                             weight),
                 "assigns to the parameter 'w'");
  expect_refused(script_part("H",
                             "def forward(self, x, y):\n"
                             "  return torch.mm(x.flatten(1), self.w) + y\n",
                             weight),
                 "its forward() failed: ");
}

TEST(ScriptNetwork, RefusesAnswersThatDoNotFitTheirImages) {
  const NetworkPtr network = network_of(script_part("K",
                                                    "def forward(self, x):\n"
                                                    "  y = torch.mm(x.flatten(1), self.w)\n"
                                                    "  return y[1:] if x.size(0) > 3 else y\n",
                                                    {{"w", torch::ones({48, kClasses})}}));
  EXPECT_NO_THROW(network->forward(images(3)));
  EXPECT_THROW(network->forward(images(4)), DataError);
}

// torch.device() quotes an unknown name in its error, which here has the words of a lost GPU.
TEST(ScriptNetwork, IsNotAtFaultWhereAGpuFails) {
  const NetworkPtr network =
      network_of(script_part("L",
                             "def forward(self, x):\n"
                             "  if x.size(0) > 3:\n"
                             "    x = x.to(torch.device('CUDA error: ' + str(x.size(0))))\n"
                             "  return torch.mm(x.flatten(1), self.w)\n",
                             {{"w", torch::ones({48, kClasses})}}));
  EXPECT_NO_THROW(network->forward(images(3)));
  EXPECT_THROW(network->forward(images(4)), UnavailableError);
}

}  // namespace
}  // namespace tandem::model
