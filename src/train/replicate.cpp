#include "tandem/train/replicate.hpp"

#include "tandem/core/error.hpp"

namespace tandem::train {

void broadcast_weights(comm::Communicator& comm, ParameterArena& arena,
                       torch::nn::Module& network) {
  comm.broadcast(arena.values());
  broadcast_buffers(comm, network);
}

void broadcast_buffers(comm::Communicator& comm, torch::nn::Module& network) {
  for (const auto& item : network.named_buffers()) {
    const torch::Tensor& buffer = item.value();
    if (!buffer.is_contiguous()) {
      throw InternalError("buffer " + item.key() + " is not contiguous and cannot be broadcast");
    }
    comm.broadcast(Span<std::uint8_t>(static_cast<std::uint8_t*>(buffer.data_ptr()),
                                      static_cast<std::size_t>(buffer.nbytes())));
  }
}

}  // namespace tandem::train
