// CUDA streams, CUDA events and NCCL for tests without a GPU: memory is the host's, a stream is a
// queue that one thread works off in order, and collectives are messages of MPI. The destructor
// releases what hangs.
//
// One at a time in a process, because the libraries' functions have no object.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <string>

#include "support/test_gpu.hpp"

namespace tandem::testing {

// Set before the calls that they concern; the ranks that are named on all ranks alike.
struct NcclFaults {
  int hangs_in_init = -1;        // this rank connects when let_late_ranks_connect() says so
  int hangs_in_collective = -1;  // this rank takes part in none, which its peers do not notice,
  bool lost = false;             // or do, as those of a process that is gone over a network
  bool abort_hangs = false;      // as it does while a CUDA graph with collectives lives
  int version = NCCL_VERSION_CODE;
  std::map<std::string, int> returns;  // what a function of NCCL or CUDA returns: "ncclAllReduce"
};

class NcclStandIn {
 public:
  // Collective.
  NcclStandIn();
  ~NcclStandIn();
  NcclStandIn(const NcclStandIn&) = delete;
  NcclStandIn& operator=(const NcclStandIn&) = delete;

  const TestGpu& gpu() const { return gpu_; }
  NcclFaults faults;
  // What ncclCommGetAsyncError finds from now on.
  void report_asynchronous_error(ncclResult_t code);
  void let_late_ranks_connect();
  // Communicators, also those that connect, streams and events that were made and not destroyed.
  int living() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
  TestGpu gpu_;
};

}  // namespace tandem::testing
