// The all-reduce of gradients in host memory: the values of --all-reduce, and one factory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {

enum class AllReduceAlgorithm {
  kFlat,      // over all ranks at once
  kTwoLevel,  // reduce-scatter within hosts, all-reduce between hosts, all-gather within hosts
  kLibrary,   // MPI_Allreduce and MPI_Iallreduce, whose order of additions is MPI's
};

// "flat", "two-level", "mpi"
std::vector<std::string> all_reduce_algorithm_names();
std::string all_reduce_algorithm_name(AllReduceAlgorithm algorithm);
// The algorithm of one of these names; throws UsageError.
AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name);

struct AllReduceOptions {
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::kFlat;
  bool as_bfloat16 = false;  // only between hosts if the algorithm is kTwoLevel; not with kLibrary
};

struct AllReduce {
  std::unique_ptr<Collectives> collectives;
  // Shared memory for the gradients, initially 0: their sums are faster there. Null: the gradients
  // stay where they are.
  std::shared_ptr<float> shared_gradients;
};

// Collective. `node`: the ranks of this host. Only sums of the gradients use shared memory and
// bfloat16. The arguments must outlive the result. Throws InternalError.
AllReduce make_all_reduce(MpiCommunicator& world, MpiCommunicator& node, Span<float> gradients,
                          AllReduceOptions options);

}  // namespace tandem::comm
