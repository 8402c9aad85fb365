#include "tandem/comm/allreduce/all_reduce.hpp"

#include "bf16_all_reduce.hpp"
#include "chunked_all_reduce.hpp"
#include "deterministic_all_reduce.hpp"
#include "hierarchical_all_reduce.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/named_values.hpp"

namespace tandem::comm {
namespace {

constexpr NamedValues<AllReduceAlgorithm, 3> kAlgorithms{
    {{AllReduceAlgorithm::kFlat, "flat"},
     {AllReduceAlgorithm::kTwoLevel, "two-level"},
     {AllReduceAlgorithm::kLibrary, "mpi"}}};

// The all-reduce of the site's MPI, which may have offloads (hcoll, UCC, SHARP).
class LibraryAllReduce final : public ForwardingCollectives {
 public:
  explicit LibraryAllReduce(MpiCommunicator& world) : ForwardingCollectives(world), world_(world) {}
  std::string name() const override { return "mpi's own all-reduce"; }
  bool is_test_thread_safe() const override { return world_.is_test_thread_safe(); }

 private:
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override {
    return world_.iall_reduce_along(Route::kLibrary, values);
  }

  MpiCommunicator& world_;
};

// Collective. The ring if a host has several ranks and the ranks of each host are consecutive. Then
// few hops of the ring cross a link between hosts.
Route route_between(MpiCommunicator& world, MpiCommunicator& node) {
  const std::int64_t rank = world.rank();
  const auto first = node.all_reduce_value(rank, Reduction::kMin);
  const auto last = node.all_reduce_value(rank, Reduction::kMax);
  const bool follow_each_other = last - first + 1 == node.size();
  const auto most = world.all_reduce_value<std::int64_t>(node.size(), Reduction::kMax);
  const bool suits_ring = is_true_everywhere(world, follow_each_other) && most > 1;
  return suits_ring ? Route::kRing : Route::kDirect;
}

// Collective. Null on all ranks if a host cannot share memory.
std::shared_ptr<SharedFloats> share_on_all_hosts(MpiCommunicator& world, MpiCommunicator& node,
                                                 std::size_t count) {
  if (world.size() == 1 || count == 0) return nullptr;
  std::shared_ptr<SharedFloats> shared = SharedFloats::make(node, count);
  return is_true_everywhere(world, shared != nullptr) ? shared : nullptr;
}

std::shared_ptr<float> memory_of(const std::shared_ptr<SharedFloats>& shared) {
  if (shared == nullptr) return nullptr;
  return {shared, shared->mine().data()};
}

}  // namespace

std::vector<std::string> all_reduce_algorithm_names() { return tandem::names_of(kAlgorithms); }

std::string all_reduce_algorithm_name(AllReduceAlgorithm algorithm) {
  return tandem::name_of(kAlgorithms, algorithm);
}

AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name) {
  return tandem::value_of(kAlgorithms, "all-reduce", name);
}

AllReduce make_all_reduce(MpiCommunicator& world, MpiCommunicator& node, Span<float> gradients,
                          AllReduceOptions options) {
  if (options.algorithm == AllReduceAlgorithm::kTwoLevel) {
    const std::shared_ptr<SharedFloats> shared = share_on_all_hosts(world, node, gradients.size());
    if (shared != nullptr) gradients = shared->mine();
    const Span<float> as_bfloat16 = options.as_bfloat16 ? gradients : Span<float>();
    return {std::make_unique<HierarchicalAllReduce>(world, node, as_bfloat16, shared),
            memory_of(shared)};
  }
  if (options.algorithm == AllReduceAlgorithm::kLibrary) {
    if (options.as_bfloat16) throw InternalError("MPI cannot add bfloat16 numbers");
    return {std::make_unique<LibraryAllReduce>(world), nullptr};
  }
  if (options.as_bfloat16) return {std::make_unique<Bf16AllReduce>(world, gradients), nullptr};
  std::shared_ptr<SharedFloats> shared;
  Route route = Route::kDirect;
  if (world.size() > 1 && world.size() <= kMaxRanksInLinearRounds) {
    if (node.size() < world.size()) {
      route = route_between(world, node);
    } else if (!gradients.empty()) {
      shared = SharedFloats::make(world, gradients.size());
    }
  }
  return {std::make_unique<DeterministicAllReduce>(world, shared, route), memory_of(shared)};
}

}  // namespace tandem::comm
