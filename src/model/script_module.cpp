#include "script_module.hpp"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

// The position of an operator's mode among its inputs.
constexpr std::size_t kModeOfBatchNorm = 5;
constexpr std::size_t kMeanOfBatchNorm = 3;
constexpr std::size_t kModeOfDropout = 2;

bool has_fixed_mode(const torch::jit::Node& node) {
  const std::string kind = node.kind().toQualString();
  if (kind == "aten::batch_norm") {
    const auto mean = torch::jit::toIValue(node.input(kMeanOfBatchNorm));
    const bool has_statistics = !(mean && mean->isNone());
    return has_statistics && torch::jit::toIValue(node.input(kModeOfBatchNorm)).has_value();
  }
  const bool drops = kind == "aten::dropout" || kind == "aten::feature_dropout" ||
                     kind == "aten::alpha_dropout" || kind == "aten::dropout_";
  return drops && torch::jit::toIValue(node.input(kModeOfDropout)).has_value();
}

std::size_t count_in(const torch::jit::Block& block) {
  std::size_t count = 0;
  for (const torch::jit::Node* node : block.nodes()) {
    if (has_fixed_mode(*node)) ++count;
    for (const torch::jit::Block* inner : node->blocks()) count += count_in(*inner);
  }
  return count;
}

}  // namespace

torch::jit::Module load_script(const std::string& file, const std::string& bytes,
                               torch::Device device) {
  std::istringstream stream(bytes);
  try {
    return torch::jit::load(stream, device);
  } catch (const std::exception& error) {
    // The first line is the message; the rest shows the place in the file.
    const std::string reason = trim(split(trim(message_of(error)), '\n').front());
    const bool is_newer = reason.find("Unknown builtin op") != std::string::npos;
    throw DataError(file + ": is not a TorchScript file that libtorch can read (" + reason + "); " +
                    (is_newer ? "this is libtorch " + torch_version() +
                                    ", the file was written by a newer one: build with "
                                    "LIBTORCH=wheel, or do without that operator"
                              : "in Python, torch.jit.script(network).save('net.pt') writes it"));
  }
}

std::size_t count_fixed_modes(const torch::jit::Module& module) {
  const auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return count_in(*graph->block());
}

}  // namespace tandem::model
