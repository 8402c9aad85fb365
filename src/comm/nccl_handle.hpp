// An owned ncclComm_t: connects the ranks' GPUs with a deadline, and disconnects them in bounded
// time. The communicator is a blocking one, because a non-blocking one starts a thread for each
// collective. check() may be called on any thread. Throws AgreedError on every rank if the ranks do
// not connect in time (69) or have different versions of NCCL (78); later UnavailableError
// with the GPU's name.
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
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  // Calls `issue(comm)`, named `call` in errors.
  template <typename Issue>
  void call(const char* call, const Issue& issue) {
    report(issue(comm_), call);
  }
  // Throws what NCCL noticed since.
  void check();
  bool has_failed() const { return failed_; }

  // The limit for the end of a communicator, whatever the peers do.
  static constexpr double kSecondsToEnd = 5;
  enum class End { kDisconnect, kAbort };
  // Ends the communicator, and waits `seconds` at most. To disconnect, all collectives must have
  // finished. Without this call the connection stays as it is.
  void end(End how, double seconds) noexcept;

 private:
  struct Attempt;

  void report(ncclResult_t result, const char* call);
  // Collective. Throws on every rank.
  void report_timeout(Communicator& world, bool connected) const;

  const std::shared_ptr<const GpuApi> api_;
  const NcclSettings settings_;
  ncclComm_t comm_ = nullptr;
  std::atomic<bool> failed_{false};
};

}  // namespace tandem::comm
