// All collectives that a job needs in host memory: those of Collectives, and those by which ranks
// agree. Every rank must issue the same calls in the same order with the same sizes, on one thread.
// The caller owns the buffers, which must live until the call, or its Request, completes. Throws
// InternalError naming the failed call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/comm/collectives.hpp"
#include "tandem/core/span.hpp"

namespace tandem::comm {

enum class Reduction { kSum, kMin, kMax };

class Communicator : public Collectives {
 public:
  using Collectives::all_reduce;
  void all_reduce(Buffer values, Reduction reduction) { do_all_reduce_by(reduction, values); }
  void broadcast(Buffer values, int root = 0) { do_broadcast(values, root); }
  // In place on rank 0; values of other ranks are unchanged.
  void reduce(Buffer values, Reduction reduction = Reduction::kSum) {
    do_reduce(values, reduction);
  }
  // Non-blocking forms of a sum by reduce() and of broadcast() from rank 0. MPI matches them in the
  // order of their starts, so calls that depend on the end of others need a communicator of their
  // own (pipeline.hpp).
  std::unique_ptr<Request> ireduce(Buffer values) { return do_ireduce(values); }
  std::unique_ptr<Request> ibroadcast(Buffer values) { return do_ibroadcast(values); }
  // As MPI_Ialltoall, with one equal chunk per rank. Both buffers must live until it completes.
  template <typename T>
  std::unique_ptr<Request> iall_to_all(Span<const T> mine, Span<T> theirs) {
    return do_iall_to_all(mine.data(), theirs);
  }
  // As an in-place MPI_Iallgather: every rank gets chunk r from rank r.
  std::unique_ptr<Request> iall_gather(Buffer values) { return do_iall_gather(values); }
  // As MPI_Sendrecv with `partner`, which makes the same call; both buffers have the same size.
  template <typename T>
  void sendrecv(int partner, Span<const T> mine, Span<T> theirs) {
    do_sendrecv(partner, mine.data(), theirs);
  }
  virtual void barrier() = 0;

  // The reduction of one value.
  template <typename T>
  T all_reduce_value(T value, Reduction reduction = Reduction::kSum) {
    all_reduce(Span<T>(&value, 1), reduction);
    return value;
  }
  // The values of every rank, in rank order.
  template <typename T>
  std::vector<T> all_gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>, "values travel as their bytes");
    std::vector<T> all(static_cast<std::size_t>(size()));
    all[static_cast<std::size_t>(rank())] = mine;
    iall_gather(
        Span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(all.data()), all.size() * sizeof(T)))
        ->wait();
    return all;
  }
  // MPI_Gatherv: on rank 0 the values of all ranks, in rank order; empty on other ranks. The number
  // of values may differ between ranks.
  template <typename T>
  std::vector<T> gather(const std::vector<T>& mine) {
    return gather(mine, all_gather(static_cast<std::int64_t>(mine.size() * sizeof(T))));
  }
  std::string broadcast_string(std::string text, int root = 0);
  // Gathers the text of every rank on rank 0, in rank order; empty on other ranks.
  std::vector<std::string> gather_strings(const std::string& text);

 private:
  // `bytes_of`: of every rank.
  template <typename T>
  std::vector<T> gather(const std::vector<T>& mine, const std::vector<std::int64_t>& bytes_of) {
    static_assert(std::is_trivially_copyable_v<T>, "values travel as their bytes");
    const auto total = std::accumulate(bytes_of.begin(), bytes_of.end(), std::int64_t{0});
    std::vector<T> all(rank() == 0 ? static_cast<std::size_t>(total) / sizeof(T) : 0);
    do_gather(mine.data(), all.data(), bytes_of);
    return all;
  }
  void do_all_reduce(Buffer values) final { do_all_reduce_by(Reduction::kSum, values); }
  virtual void do_all_reduce_by(Reduction op, Buffer values) = 0;
  virtual void do_broadcast(Buffer values, int root) = 0;
  virtual void do_reduce(Buffer values, Reduction op) = 0;
  virtual std::unique_ptr<Request> do_ireduce(Buffer values) = 0;
  virtual std::unique_ptr<Request> do_ibroadcast(Buffer values) = 0;
  virtual std::unique_ptr<Request> do_iall_to_all(const void* mine, Buffer theirs) = 0;
  virtual std::unique_ptr<Request> do_iall_gather(Buffer values) = 0;
  virtual void do_sendrecv(int partner, const void* mine, Buffer theirs) = 0;
  // Gathers `bytes_of[r]` bytes of each rank r into `all` on rank 0.
  virtual void do_gather(const void* mine, void* all,
                         const std::vector<std::int64_t>& bytes_of) = 0;
};

}  // namespace tandem::comm
