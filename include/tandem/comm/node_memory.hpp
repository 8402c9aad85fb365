// What: memory that the ranks of one host share or, if they cannot, a private copy per rank.
// Owns: the mapping, but no MPI object, so it may outlive MPI_Finalize. A killed rank leaves
// nothing behind. Threads: any may read once filled. Throws: AgreedError (69) on all ranks if one
// has no memory for it; InternalError naming the failed MPI call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

class NodeMemory {
 public:
  // Collective over both; `node`: the ranks of this host. On return all pages are allocated and
  // zero. If any host of the job cannot share `bytes`, every rank keeps a private copy.
  NodeMemory(Communicator& world, Communicator& node, std::size_t bytes);
  ~NodeMemory();
  NodeMemory(NodeMemory&&) noexcept;

  std::uint8_t* data() const;
  bool shared() const;
  // Whether this rank has to fill the memory: one rank a host where it is shared, else every rank.
  bool fills() const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace tandem::comm
