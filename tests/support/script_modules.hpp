// TorchScript modules such as Python exports, made in C++, so that their tests need no Python.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tandem/model/network.hpp"

namespace tandem::model {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// As torch.nn.Module does, all parameters require a gradient; `source` is its methods.
inline torch::jit::Module script_part(const std::string& name, const std::string& source,
                                      const NamedTensors& parameters,
                                      const NamedTensors& buffers = {}) {
  torch::jit::Module part("__torch__.tests." + name);
  part.register_attribute("training", c10::BoolType::get(), true);
  for (auto [parameter, tensor] : parameters) {
    part.register_parameter(parameter, tensor.set_requires_grad(true), /*is_buffer=*/false);
  }
  for (const auto& [buffer, tensor] : buffers) part.register_buffer(buffer, tensor);
  if (!source.empty()) part.define(source);
  return part;
}

inline std::string bytes_of(const torch::jit::Module& module) {
  std::ostringstream stream;
  module.save(stream);
  return stream.str();
}

struct ScriptNetOptions {
  bool batch_norm = false;
  double dropout = 0;
  bool reads_buffer = false;  // which training changes
};

// Convolution, BatchNorm, halving, dropout, a linear layer; weights from torch's generator.
inline torch::jit::Module script_net(InputShape shape, std::int64_t classes,
                                     ScriptNetOptions options = {}) {
  constexpr std::int64_t kFilters = 4;
  const std::int64_t features = kFilters * (shape.height / 2) * (shape.width / 2);
  torch::jit::Module net = script_part("Net", "", {});
  if (options.reads_buffer) net.register_buffer("scale", torch::ones({}));
  net.register_module(
      "conv", script_part("Conv",
                          "def forward(self, x):\n"
                          "  return torch.conv2d(x, self.weight, self.bias, [1, 1], [1, 1])\n",
                          {{"weight", torch::randn({kFilters, shape.channels, 3, 3}) * 0.2},
                           {"bias", torch::zeros({kFilters})}}));
  if (options.batch_norm) {
    net.register_module(
        "bn", script_part(
                  "BatchNorm",
                  "def forward(self, x):\n"
                  "  if self.training:\n"
                  "    self.num_batches_tracked.add_(1)\n"
                  "  return torch.batch_norm(x, self.weight, self.bias, self.running_mean,\n"
                  "                          self.running_var, self.training, 0.1, 1e-5, False)\n",
                  {{"weight", torch::ones({kFilters})}, {"bias", torch::zeros({kFilters})}},
                  {{"running_mean", torch::zeros({kFilters})},
                   {"running_var", torch::ones({kFilters})},
                   {"num_batches_tracked", torch::zeros({}, torch::kInt64)}}));
  }
  net.register_module("fc", script_part("Linear",
                                        "def forward(self, x):\n"
                                        "  return torch.addmm(self.bias, x, self.weight.t())\n",
                                        {{"weight", torch::randn({classes, features}) * 0.05},
                                         {"bias", torch::zeros({classes})}}));
  net.define(std::string("def forward(self, x):\n") +
             (options.reads_buffer ? "  x = x * self.scale\n"
                                     "  if self.training:\n"
                                     "    self.scale.mul_(0.9).add_(0.1 * x.abs().mean())\n"
                                   : "") +
             "  x = self.conv.forward(x)\n" +
             (options.batch_norm ? "  x = self.bn.forward(x)\n" : "") +
             "  x = torch.max_pool2d(torch.relu(x), [2, 2])\n"
             "  x = torch.dropout(x.view([x.size(0), -1]), " +
             std::to_string(options.dropout) +
             ", self.training)\n"
             "  return self.fc.forward(x)\n");
  return net;
}

}  // namespace tandem::model
