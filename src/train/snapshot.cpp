#include "tandem/train/snapshot.hpp"

#include <map>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::train {
namespace {

constexpr char kOptimizerPrefix[] = "optimizer.";

std::vector<model::NamedTensor> optimizer_tensors(const ParameterArena& arena,
                                                  Optimizer& optimizer) {
  std::vector<model::NamedTensor> tensors;
  for (const StateArray& array : optimizer.state()) {
    for (const ParameterArena::Slot& slot : arena.slots()) {
      tensors.push_back({optimizer_tensor_name(array.name, slot.name),
                         arena.view_like(slot, array.values), false});
    }
  }
  return tensors;
}

}  // namespace

std::string optimizer_tensor_name(const std::string& array, const std::string& parameter) {
  return kOptimizerPrefix + array + "." + parameter;
}

bool is_optimizer_tensor(const std::string& name) { return name.rfind(kOptimizerPrefix, 0) == 0; }

std::vector<model::NamedTensor> take_snapshot(const model::Network& network,
                                              const ParameterArena& arena, Optimizer& optimizer) {
  const torch::NoGradGuard no_grad;
  std::vector<model::NamedTensor> tensors = model::state_dict(network);
  for (auto& each : optimizer_tensors(arena, optimizer)) tensors.push_back(std::move(each));
  for (model::NamedTensor& each : tensors) {
    // A copy from a GPU is one already.
    each.tensor = each.tensor.is_cpu() ? each.tensor.clone() : on_host(each.tensor);
  }
  return tensors;
}

void restore_snapshot(const std::vector<model::NamedTensor>& tensors, model::Network& network,
                      const ParameterArena& arena, Optimizer& optimizer) {
  const torch::NoGradGuard no_grad;
  std::vector<model::NamedTensor> weights;
  std::map<std::string, torch::Tensor> rest;
  for (const model::NamedTensor& each : tensors) {
    if (is_optimizer_tensor(each.name)) {
      rest[each.name] = each.tensor;
    } else {
      weights.push_back(each);
    }
  }
  const std::vector<model::NamedTensor> wanted = optimizer_tensors(arena, optimizer);
  for (const model::NamedTensor& each : wanted) {
    const auto found = rest.find(each.name);
    if (found == rest.end()) throw DataError("tensor '" + each.name + "' is missing");
    if (found->second.sizes() != each.tensor.sizes() ||
        found->second.scalar_type() != each.tensor.scalar_type()) {
      throw DataError("tensor '" + each.name + "' has not the parameter's shape and type");
    }
  }
  if (rest.size() != wanted.size()) {
    throw DataError(std::to_string(rest.size()) + " tensors of an optimizer were found, " +
                    std::to_string(wanted.size()) + " were expected");
  }
  model::load_state_dict(network, weights);
  for (const model::NamedTensor& each : wanted) each.tensor.copy_(rest[each.name]);
}

void broadcast_state(comm::Communicator& comm, model::Network& network, ParameterArena& arena,
                     Optimizer& optimizer) {
  broadcast_weights(comm, arena, network);
  for (const StateArray& array : optimizer.state()) broadcast_tensor(comm, array.values);
}

}  // namespace tandem::train
