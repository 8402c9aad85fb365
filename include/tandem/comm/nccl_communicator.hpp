// What: collectives of the ranks' GPUs over NCCL. What the ranks tell each other stays with MPI.
// Owns: an NCCL communicator, a stream and events on the GPU; destroyed after every Request of it
// and before the communicator it was made from. Threads: as Collectives; the GPU is the calling
// thread's current device. Throws: where it is made AgreedError (69) on every rank; later
// InternalError naming the failed call.
//
// A peer that is gone need not be noticed (NCCL sees it over networks only), and neither is one
// that hangs: the watchdog ends such a job. No destructor waits for either for long, and after an
// exception the connection is left as it is: the others know nothing of it, and main() ends the
// job.
#pragma once

#include <memory>
#include <string>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

struct GpuApi;

struct NcclSettings {
  int device = 0;                  // this rank's GPU, as CUDA counts those that this process sees
  std::string gpu;                 // what messages call it: "GPU 0, 0000:3b:00.0"
  double init_timeout = 60;        // seconds that all ranks have to connect
  void* compute_stream = nullptr;  // cudaStream_t of the work around the collectives; null: legacy
};

// Collective over `world`, every rank with a GPU of its own. Throws AgreedError (69), also in a
// build without CUDA.
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

  void do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) override;
  std::unique_ptr<Request> do_iall_reduce(void* data, std::size_t count, DataType type) override;
  void do_broadcast(void* data, std::size_t bytes, int root) override;

  std::unique_ptr<Stream> stream_;
};

}  // namespace tandem::comm
