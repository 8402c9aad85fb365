#include "tandem/train/replicate.hpp"

#include <algorithm>

#include "tandem/comm/host_arrays.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/host_copy.hpp"

namespace tandem::train {

void broadcast_tensor(comm::Communicator& comm, const torch::Tensor& tensor) {
  if (comm.size() == 1 && !tensor.is_cpu()) return;  // no two copies for nothing
  const torch::NoGradGuard no_grad;
  const torch::Tensor host = on_host(tensor);
  comm.broadcast(Span<std::uint8_t>(static_cast<std::uint8_t*>(host.data_ptr()),
                                    static_cast<std::size_t>(host.nbytes())));
  if (!tensor.is_cpu()) tensor.copy_(host);
}

void broadcast_array(comm::Communicator& comm, const ParameterArena& arena,
                     const torch::Tensor& array) {
  if (arena.host_arrays() == nullptr) return broadcast_tensor(comm, array);
  arena.host_arrays()->broadcast(floats_of(array));
}

void broadcast_weights(comm::Communicator& comm, ParameterArena& arena,
                       torch::nn::Module& network) {
  broadcast_array(comm, arena, arena.flat_values());
  for (const torch::Tensor& parameter : network.parameters()) {
    if (!parameter.requires_grad()) broadcast_tensor(comm, parameter.detach());
  }
  broadcast_buffers(comm, network);
}

void broadcast_buffers(comm::Communicator& comm, torch::nn::Module& network) {
  for (const auto& item : network.named_buffers()) {
    const torch::Tensor& buffer = item.value();
    if (!buffer.is_contiguous()) {
      throw InternalError("buffer " + item.key() + " is not contiguous and cannot be broadcast");
    }
    broadcast_tensor(comm, buffer);
  }
}

std::shared_ptr<const model::BatchExchange> synchronize_norms(comm::Communicator& world,
                                                              model::Network& network) {
  return model::synchronize_norms(network, [&world](const std::vector<double>& mine) {
    std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size()));
    std::copy(mine.begin(), mine.end(),
              all.begin() + static_cast<std::ptrdiff_t>(mine.size()) * world.rank());
    world.iall_gather(Span<double>(all.data(), all.size()))->wait();
    return all;
  });
}

}  // namespace tandem::train
