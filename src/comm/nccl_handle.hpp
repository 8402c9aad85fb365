// What: an owned ncclComm_t: how the ranks' GPUs connect, and how that ends.
// Owns: the NCCL communicator. Threads: check() any, the rest as Collectives. Throws: AgreedError
// (69) on every rank where the ranks do not connect in time; later InternalError. Module-private.
#pragma once

#include <atomic>
#include <memory>

#include "gpu_api.hpp"
#include "tandem/comm/nccl_communicator.hpp"

namespace tandem::comm {

class NcclHandle {
 public:
  // Collective.
  NcclHandle(std::shared_ptr<const GpuApi> api, Communicator& world, const NcclSettings& settings);
  // Bounded in time, whatever the peers do.
  ~NcclHandle();
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  ncclComm_t get() const { return comm_; }
  // Throws where `code`, which `call` returned, is a failure. Where the call goes on in the
  // background, as the first collective does while it connects, waits for it as long as the ranks
  // had to connect.
  void finish_call(ncclResult_t code, const char* call);
  // Throws what NCCL noticed since.
  void check();

 private:
  void connect(Communicator& world);
  // Collective. Throws on every rank.
  void report_timeout(Communicator& world, bool connected) const;
  void end(bool healthy) noexcept;

  const std::shared_ptr<const GpuApi> api_;
  const NcclSettings settings_;
  ncclComm_t comm_ = nullptr;
  std::atomic<bool> failed_{false};
};

}  // namespace tandem::comm
