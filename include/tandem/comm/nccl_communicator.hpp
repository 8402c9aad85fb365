// Collectives between the ranks' GPUs over NCCL. Owns an NCCL communicator, a stream and events.
// Destroy it after all of its Requests and before the communicator that made it. The GPU is the
// calling thread's current device. The constructor throws AgreedError on every rank: 69 if they do
// not connect, 78 if they have different versions of NCCL. Later calls throw
// UnavailableError with the GPU's name.
//
// A call gives its collective to the GPU and returns; it does not wait for peers. NCCL reports a
// lost peer only over networks, and never a peer that hangs; the watchdog ends such a job. The
// destructor waits at most 5 s; destroy CUDA graphs with collectives before it, because NCCL waits
// for them. During an exception it leaves the connection open: other ranks have not seen the
// error, and main() ends the job.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

struct GpuApi;

struct NcclSettings {
  int device = 0;            // this rank's GPU: CUDA's index in this process
  std::string gpu;           // what messages call it: "GPU 0, 0000:3b:00.0"
  double init_timeout = 60;  // seconds that all ranks have to connect
  // Returns the cudaStream_t on which the calling thread computes; each call and each wait asks
  // for it. Empty: the legacy stream.
  std::function<void*()> compute_stream;
};

// Collective over `world`, every rank with a GPU of its own. Throws AgreedError; in a build
// without CUDA with 69.
std::unique_ptr<Collectives> make_nccl(Communicator& world, const NcclSettings& settings);

class NcclCommunicator final : public Collectives {
 public:
  // Collective. `api` is what load_gpu_api() returns, or a test's.
  NcclCommunicator(std::shared_ptr<const GpuApi> api, Communicator& world,
                   const NcclSettings& settings);
  ~NcclCommunicator() override;

  int rank() const override;
  int size() const override;
  std::string name() const override { return "nccl"; }
  bool has_async_progress() const override { return true; }
  void check() override;

 private:
  class Stream;
  class InFlight;

  void do_all_reduce(Buffer values) override;
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override;

  std::unique_ptr<Stream> stream_;
};

}  // namespace tandem::comm
