#include "tandem/train/snapshot.hpp"

#include <map>

#include "tandem/core/error.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::train {
namespace {

std::vector<model::NamedTensor> optimizer_tensors(const ParameterArena& arena,
                                                  const std::vector<StateArray>& arrays) {
  std::vector<model::NamedTensor> tensors;
  for (const StateArray& array : arrays) {
    for (const ParameterArena::Slot& slot : arena.slots()) {
      tensors.push_back({optimizer_tensor_name(array.name, slot.name),
                         arena.view_like(slot, array.values), false});
    }
  }
  return tensors;
}

void append_unlike_parameters(const std::vector<StateArray>& arrays,
                              std::vector<model::NamedTensor>& tensors) {
  for (const StateArray& each : arrays) {
    tensors.push_back({kOptimizerPrefix + each.name, each.values, false});
  }
}

void move_to_host(HostState& state) {
  std::vector<torch::Tensor> tensors;
  for (const StateArray& each : state.arrays) tensors.push_back(each.values);
  for (const StateArray& each : state.unlike_parameters) tensors.push_back(each.values);
  for (const model::NamedTensor& each : state.buffers) tensors.push_back(each.tensor);
  tensors = all_on_host(tensors);
  auto next = tensors.begin();
  for (StateArray& each : state.arrays) each.values = *next++;
  for (StateArray& each : state.unlike_parameters) each.values = *next++;
  for (model::NamedTensor& each : state.buffers) each.tensor = *next++;
}

// The host's copies in place of the device's tensors.
void take_from(const HostState& state, const ParameterArena& arena,
               std::vector<model::NamedTensor>& tensors) {
  std::map<std::string, torch::Tensor> copies;
  for (const ParameterArena::Slot& slot : arena.slots()) {
    copies[slot.name] = arena.view_like(slot, state.arrays.front().values);
  }
  for (const model::NamedTensor& each : state.buffers) copies[each.name] = each.tensor;
  for (model::NamedTensor& each : tensors) {
    const auto found = copies.find(each.name);
    each.tensor = found == copies.end() ? on_host(each.tensor) : found->second;
  }
}

}  // namespace

HostState arrays_on_host(const ParameterArena& arena, Optimizer& optimizer) {
  HostState state{optimizer.state(), {}, {}};
  state.arrays.insert(state.arrays.begin(), {"", arena.flat_values()});
  move_to_host(state);
  return state;
}

HostState state_on_host(const model::Network& network, const ParameterArena& arena,
                        Optimizer& optimizer) {
  HostState state{optimizer.state(), {}, optimizer.unlike_parameters()};
  state.arrays.insert(state.arrays.begin(), {"", arena.flat_values()});
  for (const auto& each : network.named_buffers()) {
    state.buffers.push_back({each.key(), each.value().detach(), true});
  }
  move_to_host(state);
  return state;
}

std::vector<model::NamedTensor> take_snapshot(const model::Network& network,
                                              const ParameterArena& arena, const HostState& state) {
  const torch::NoGradGuard no_grad;
  std::vector<model::NamedTensor> tensors = model::state_dict(network);
  const bool is_shared = arena.device().is_cpu();
  if (!is_shared) take_from(state, arena, tensors);
  const std::vector<StateArray> of_optimizer(state.arrays.begin() + 1, state.arrays.end());
  for (auto& each : optimizer_tensors(arena, of_optimizer)) tensors.push_back(std::move(each));
  append_unlike_parameters(state.unlike_parameters, tensors);
  if (!is_shared) return tensors;
  for (model::NamedTensor& each : tensors) each.tensor = each.tensor.clone();
  return tensors;
}

namespace {

// While weights and averages are swapped, as in a checkpoint.
void restore_swapped(const std::vector<model::NamedTensor>& tensors, model::Network& network,
                     const ParameterArena& arena, Optimizer& optimizer) {
  const torch::NoGradGuard no_grad;
  std::vector<model::NamedTensor> weights;
  std::map<std::string, torch::Tensor> rest;
  for (const model::NamedTensor& each : tensors) {
    if (is_power_sgd_tensor(each.name)) continue;
    if (is_optimizer_tensor(each.name)) {
      rest[each.name] = each.tensor;
    } else {
      weights.push_back(each);
    }
  }
  std::vector<model::NamedTensor> wanted = optimizer_tensors(arena, optimizer.state());
  append_unlike_parameters(optimizer.unlike_parameters(), wanted);
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

}  // namespace

void restore_snapshot(const std::vector<model::NamedTensor>& tensors, model::Network& network,
                      const ParameterArena& arena, Optimizer& optimizer) {
  optimizer.swap_average();
  try {
    restore_swapped(tensors, network, arena, optimizer);
  } catch (...) {
    optimizer.swap_average();
    throw;
  }
  optimizer.swap_average();
}

void broadcast_state(comm::Communicator& comm, model::Network& network, ParameterArena& arena,
                     Optimizer& optimizer) {
  broadcast_weights(comm, arena, network);
  for (const StateArray& array : optimizer.state()) broadcast_array(comm, arena, array.values);
  for (const StateArray& array : optimizer.unlike_parameters()) {
    broadcast_tensor(comm, array.values);
  }
}

}  // namespace tandem::train
