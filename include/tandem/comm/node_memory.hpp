// What: memory that the ranks of one host share, or, where the host has no room for it, a private
// copy per rank. Owns: the MPI window or the private memory. Threads: any may read once filled.
// Throws: InternalError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {

class NodeMemory {
 public:
  // Collective over both. Where any host of the job cannot share `bytes`, every rank keeps a
  // private copy.
  NodeMemory(MpiCommunicator& world, MpiCommunicator& node, std::size_t bytes);
  ~NodeMemory();
  NodeMemory(NodeMemory&&) noexcept;

  std::uint8_t* data() const;
  bool shared() const;
  // Whether this rank has to fill the memory: one rank a host where it is shared, else every rank.
  bool fills() const;

 private:
  struct Window;
  std::unique_ptr<Window> window_;
};

}  // namespace tandem::comm
