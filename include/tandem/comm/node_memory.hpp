// Memory that the ranks of one host share or, if they cannot, a private copy per rank. Holds no MPI
// object, so it may outlive MPI_Finalize; a killed rank leaves nothing behind. Any thread may read
// it once it is filled. Throws AgreedError (69) on all ranks if one has no memory for it,
// InternalError if MPI fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

class NodeMemory {
 public:
  // Collective over both; `node`: the ranks of this host. On return all pages are allocated and
  // zero. If any host of the job cannot share `bytes`, every rank keeps a private copy.
  NodeMemory(Communicator& world, Communicator& node, std::size_t bytes);
  // The same, but returns nothing if any host cannot share `bytes`.
  static std::optional<NodeMemory> share(Communicator& world, Communicator& node,
                                         std::size_t bytes);
  ~NodeMemory();
  NodeMemory(NodeMemory&&) noexcept;

  std::uint8_t* data() const;
  bool shared() const;
  // Whether this rank has to fill the memory: one rank per host if it is shared, else every rank.
  bool fills() const;

 private:
  struct Mapping;
  explicit NodeMemory(std::unique_ptr<Mapping> mapping);

  std::unique_ptr<Mapping> mapping_;
};

}  // namespace tandem::comm
