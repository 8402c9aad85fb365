#include "tandem/comm/host_arrays.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tandem::comm {

std::shared_ptr<HostArrays> HostArrays::make(MpiCommunicator& world, MpiCommunicator& host,
                                             std::size_t count, std::size_t size) {
  const std::size_t stride = (size + kFloatsOfPage - 1) / kFloatsOfPage * kFloatsOfPage;
  NodeMemory memory(world, host, std::max<std::size_t>(1, count * stride * sizeof(float)));
  if (!memory.shared()) return nullptr;
  return std::shared_ptr<HostArrays>(new HostArrays(world, host, std::move(memory), stride));
}

HostArrays::HostArrays(MpiCommunicator& world, MpiCommunicator& host, NodeMemory memory,
                       std::size_t stride)
    : host_(host),
      peers_(world.split(host.rank() == 0 ? 0 : 1)),
      memory_(std::make_shared<NodeMemory>(std::move(memory))),
      stride_(stride) {}

std::shared_ptr<float> HostArrays::array(std::size_t index) const {
  float* const first = reinterpret_cast<float*>(memory_->data());
  return {memory_, first + index * stride_};
}

// One rank of each host takes part, because MPI forbids buffers that overlap.
void HostArrays::broadcast(Span<float> values) {
  if (host_.rank() == 0) peers_.broadcast(values);
  synchronize();
}

void HostArrays::synchronize() {
  // An MPI barrier need not order accesses to memory that MPI did not allocate.
  std::atomic_thread_fence(std::memory_order_release);
  host_.barrier();
  std::atomic_thread_fence(std::memory_order_acquire);
}

}  // namespace tandem::comm
