// This rank's place in the tests of NCCL: on the stand-in, or with TANDEM_TEST_GPU=real on a GPU of
// its own; with TANDEM_TEST_ONE_GPU=1 as well, on the first GPU together with all other ranks. NCCL
// refuses ranks of one host on one GPU, so each is then a host of its own to NCCL, and data goes
// over the loopback: a slow test of the library, and no way to train.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "support/nccl_stand_in.hpp"
#include "support/wants_gpu.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/nccl_communicator.hpp"

namespace tandem::comm {

inline bool on_one_gpu() { return std::getenv("TANDEM_TEST_ONE_GPU") != nullptr; }

class NcclSubject {
 public:
  template <typename T>
  struct Memory : testing::GpuMemory<T> {
    Memory(NcclSubject& subject, std::vector<T> values)
        : testing::GpuMemory<T>(subject.gpu(), std::move(values)) {}
  };

  NcclSubject() {
    if (!testing::wants_gpu()) {
      stand_in.emplace();
    } else {
      real_ = testing::real_gpu();
      settings.device = on_one_gpu() ? 0 : world.rank();
      if (on_one_gpu()) {  // github.com/NVIDIA/nccl, getHostHash() in src/misc/utils.cc
        ::setenv("NCCL_HOSTID", ("host" + std::to_string(world.rank())).c_str(), 1);
        ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
      }
      real_.check(real_.api->cudaSetDevice(settings.device), "cudaSetDevice");  // for the memory
    }
    settings.gpu = "GPU " + std::to_string(world.rank());
    settings.init_timeout = 30;
  }
  ~NcclSubject() { nccl.reset(); }  // before the stand-in

  const testing::TestGpu& gpu() const { return stand_in ? stand_in->gpu() : real_; }
  Collectives& collectives() {
    if (!nccl) connect();
    return *nccl;
  }
  void connect() { nccl.emplace(gpu().api, world, settings); }

  MpiCommunicator world = MpiCommunicator::world();
  std::optional<testing::NcclStandIn> stand_in;
  NcclSettings settings;
  std::optional<NcclCommunicator> nccl;

 private:
  testing::TestGpu real_;
};

}  // namespace tandem::comm
