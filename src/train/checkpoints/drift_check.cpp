#include "tandem/train/drift_check.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tandem/comm/agree.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/listing.hpp"
#include "tandem/core/text.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/snapshot.hpp"
#include "train/parameters/finite.hpp"

namespace tandem::train {
namespace {

std::uint64_t hash_of(Span<const float> values) {
  return hash64(values.data(), values.size() * sizeof(float));
}

// The hash that most ranks have; of equally common ones that of the lowest rank.
std::string most_common(const std::vector<std::string>& hashes) {
  std::map<std::string, int> count;
  for (const std::string& hash : hashes) ++count[hash];
  return *std::max_element(
      hashes.begin(), hashes.end(),
      [&count](const std::string& a, const std::string& b) { return count[a] < count[b]; });
}

// "tensor 'fc1.weight' of rank 1 …"; each rank's text holds one hash a tensor.
std::string describe_difference(const std::vector<std::string>& names,
                                const std::vector<std::string>& hashes_by_rank) {
  std::vector<std::vector<std::string>> table;
  for (const std::string& text : hashes_by_rank) table.push_back(split(text, ' '));
  for (std::size_t tensor = 0; tensor < names.size(); ++tensor) {
    std::vector<std::string> hashes;
    for (const auto& row : table) hashes.push_back(row.at(tensor));
    const std::string common = most_common(hashes);
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
      if (hashes[rank] != common) ranks.push_back(static_cast<int>(rank));
    }
    if (ranks.empty()) continue;
    if (ranks.size() * 2 >= hashes.size()) {
      return "tensor '" + names[tensor] +
             "' differs between ranks, where all should be equal bit for bit, and no majority "
             "tells "
             "which are right; suspect the memory or processor of one of them, and resume from the "
             "last checkpoint elsewhere";
    }
    return "tensor '" + names[tensor] + "' of " + name_ranks(ranks) +
           " differs from that of the others, all should be equal bit for bit; suspect its memory "
           "or processor, and resume from the last checkpoint elsewhere";
  }
  return "the ranks' states differ";
}

// The name of the first tensor of the array with a value that is not finite.
std::string first_not_finite(const ParameterArena& arena, const StateArray& array) {
  for (const ParameterArena::Slot& slot : arena.slots()) {
    if (all_finite(floats_of(array.values).subspan(slot.offset, slot.count))) continue;
    return array.name.empty() ? slot.name : optimizer_tensor_name(array.name, slot.name);
  }
  return array.name;
}

}  // namespace

void require_equal_state(comm::Communicator& comm, ParameterArena& arena, Optimizer& optimizer) {
  require_no_foreign_write(comm, optimizer);
  require_equal_state(comm, arena, arrays_on_host(arena, optimizer));
}

void require_no_foreign_write(comm::Communicator& comm, Optimizer& optimizer) {
  if (!optimizer.is_shared()) return;
  comm::agree(comm, [&] {
    const std::string tensor = optimizer.find_foreign_write();
    if (tensor.empty()) return;
    throw DisagreementError(
        "tensor '" + tensor +
        "', of which the ranks of this host share one copy, has changed outside of an update; "
        "suspect the memory, or another process that writes to it, and resume from the last "
        "checkpoint elsewhere");
  });
}

void require_equal_state(comm::Communicator& comm, const ParameterArena& arena,
                         const HostState& state) {
  const std::vector<StateArray>& arrays = state.arrays;
  std::uint64_t mine = 0;
  for (const StateArray& each : arrays)
    mine = hash64(&mine, sizeof mine, hash_of(floats_of(each.values)));
  const auto lowest = comm.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMin);
  const auto highest = comm.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMax);
  if (lowest == highest) return;

  std::vector<std::string> names;
  std::vector<std::string> hashes;
  for (const StateArray& each : arrays) {
    for (const ParameterArena::Slot& slot : arena.slots()) {
      names.push_back(each.name.empty() ? slot.name : optimizer_tensor_name(each.name, slot.name));
      hashes.push_back(
          std::to_string(hash_of(floats_of(each.values).subspan(slot.offset, slot.count))));
    }
  }
  const std::vector<std::string> all = comm.gather_strings(join(hashes, " "));
  comm::agree_on_rank_0(comm, [&] { throw DisagreementError(describe_difference(names, all)); });
}

void require_finite_state(comm::Communicator& comm, const ParameterArena& arena,
                          const HostState& state) {
  comm::agree_on_rank_0(comm, [&] {
    for (const StateArray& each : state.arrays) {
      if (all_finite(floats_of(each.values))) continue;
      throw TrainingError("tensor '" + first_not_finite(arena, each) +
                          "' is not finite, and such a state is not saved; lower --lr, or limit "
                          "the gradient with --clip-norm");
    }
    for (const model::NamedTensor& buffer : state.buffers) {
      const torch::Tensor& values = buffer.tensor;
      if (!values.is_floating_point() || values.isfinite().all().item<bool>()) continue;
      throw TrainingError("buffer '" + buffer.name +
                          "' of rank 0 is not finite, and such a state is not saved; lower --lr, "
                          "leave out such steps with --on-nonfinite skip, or look at what the "
                          "network writes into it");
    }
  });
}

}  // namespace tandem::train
