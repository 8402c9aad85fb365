// Measures and checks the all-reduce of given sizes, beside MPI_Allreduce alone. Main thread.
// Throws InternalError.
//
// Bandwidths have the names and meaning of nccl-tests (doc/PERFORMANCE.md there): algbw is the
// bytes reduced by time; busbw is the bytes that each rank must send by time. busbw does not fall
// with the number of ranks, so compare it with the link's rate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/span.hpp"
#include "tandem/core/touch.hpp"

namespace tandem::app {

struct AllReduceTiming {
  std::size_t bytes = 0;  // that are summed, as fp32
  int pairs = 0;
  // Seconds of one sum: each rank's median over all pairs, and of those the least, mean and most.
  double least = 0;
  double mean = 0;
  double most = 0;
  double bare = 0;          // the same mean of MPI_Allreduce
  double ratio = 0;         // ours to bare, by the slowest rank of each pair: the median
  std::uint64_t wrong = 0;  // values that are not what they should be, of all ranks
};

// 4 bytes at least; from `least` in steps of four times as much to `most`, which is the last.
std::vector<std::size_t> sizes_between(std::size_t least, std::size_t most);

double algorithm_bandwidth(std::size_t bytes, double seconds);
double bus_bandwidth(std::size_t bytes, double seconds, int ranks);

// Where the sums of `ours` are made if that is not the buffer: the memory of a GPU.
struct SumPlace {
  float* first = nullptr;                        // null: the buffer
  std::function<void(std::size_t count)> put;    // copies the first values of the buffer there
  std::function<void(std::size_t count)> fetch;  // and back
  Touch finish;                                  // waits for sums that are under way
};

struct AllReduceTask {
  Span<float> buffer;
  std::size_t bytes = 0;  // summed, from the start of the buffer
  double seconds = 0;     // about how long to measure
  Touch touch;            // called as it advances
  SumPlace place;
};

// Collective. Measures all-reduces of `ours` and of `world` (MPI_Allreduce of the buffer) in turn.
AllReduceTiming measure_all_reduce(comm::Communicator& world, comm::Collectives& ours,
                                   const AllReduceTask& task);

}  // namespace tandem::app
