// What: memory that the ranks of one host share, or, where they cannot, a private copy per rank.
// Owns: the mapping, and nothing of MPI: it may outlive MPI_Finalize. Nothing of it stays when a
// rank is killed. Threads: any may read once filled. Throws: AgreedError (69) on all ranks where
// one has no memory for it; InternalError naming the failed call of MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

class NodeMemory {
 public:
  // Collective over both; `node`: the ranks of this host. All of the memory is there when it
  // returns, and is 0. Where any host of the job cannot share `bytes`, every rank keeps a private
  // copy.
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
