// Float arrays in memory that the ranks of a host share. A pointer to an array keeps its memory
// alive, also after MPI_Finalize. A killed rank leaves no shared memory behind. One thread at a
// time. Throws AgreedError (69) on all ranks if a host has no memory for them, InternalError if MPI
// fails.
#pragma once

#include <cstddef>
#include <memory>

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/node_memory.hpp"
#include "tandem/core/span.hpp"

namespace tandem::comm {

class HostArrays {
 public:
  static constexpr std::size_t kFloatsOfPage = 4096 / sizeof(float);

  // Collective over `world`. Makes `count` arrays of `size` floats, initially 0. `host` has the
  // ranks of this host and must outlive the arrays. Returns null on all ranks if the ranks of any
  // host cannot share memory.
  static std::shared_ptr<HostArrays> make(MpiCommunicator& world, MpiCommunicator& host,
                                          std::size_t count, std::size_t size);

  // This rank among those of its host.
  int rank() const { return host_.rank(); }
  int ranks() const { return host_.size(); }
  // `size` floats; the first is at the beginning of a page.
  std::shared_ptr<float> array(std::size_t index) const;

  // Collective over all ranks. `values`, the same range of an array on each host, become rank 0's.
  void broadcast(Span<float> values);
  // Collective over the ranks of the host. Each then sees what the others wrote before.
  void synchronize();

 private:
  HostArrays(MpiCommunicator& world, MpiCommunicator& host, NodeMemory memory, std::size_t stride);

  MpiCommunicator& host_;
  MpiCommunicator peers_;  // the first ranks of all hosts, or all other ranks
  const std::shared_ptr<NodeMemory> memory_;
  const std::size_t stride_;  // floats from one array to the next
};

}  // namespace tandem::comm
