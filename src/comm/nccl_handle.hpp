// An owned ncclComm_t: connects the ranks' GPUs with a deadline, and disconnects them in bounded
// time. check() may be called on any thread. Throws AgreedError (69) on every rank if the ranks do
// not connect in time; later InternalError.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

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

  // Calls `issue(comm)`, named `call` in errors. NCCL queues a collective on the GPU in the
  // background; waits for that for at most init_timeout.
  template <typename Issue>
  void call(const char* call, const Issue& issue) {
    const std::lock_guard<std::mutex> lock(mutex_);
    finish_call(issue(comm_), call);
  }
  // Throws what NCCL noticed since. Returns at once where another thread is in a call, which
  // notices it itself.
  void check();

 private:
  void finish_call(ncclResult_t code, const char* call);
  // Collective. Throws on every rank.
  void report_timeout(Communicator& world, bool connected) const;
  void end(bool healthy) noexcept;

  const std::shared_ptr<const GpuApi> api_;
  const NcclSettings settings_;
  ncclComm_t comm_ = nullptr;
  std::atomic<bool> failed_{false};
  // Asking for asynchronous errors also finishes what a call has under way.
  std::mutex mutex_;
};

}  // namespace tandem::comm
