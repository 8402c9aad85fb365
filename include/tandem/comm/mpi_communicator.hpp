// A Communicator over MPI, for host memory. Owns a duplicate of the MPI communicator and frees it
// in its destructor, which must run before the Runtime's. One thread at a time. Throws
// InternalError naming the MPI call, and UnavailableError for a sum of bfloat16 values, a type that
// MPI lacks.
#pragma once

#include <memory>
#include <string>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

// The path of the messages of an all-reduce. kDirect and kRing give the same bits. kRing sends
// fewer bytes between hosts if consecutive ranks share a host. kDirect has fewer messages in
// sequence. More than 64 ranks use kCirculant in place of both: about 2 log2(ranks) messages in
// sequence, and an order of additions of its own. kLibrary: MPI_Iallreduce, whose path and order
// are MPI's.
enum class Route { kDirect, kRing, kCirculant, kLibrary };

class MpiCommunicator final : public Communicator {
 public:
  // Collective. All ranks of the job.
  static MpiCommunicator world();
  static MpiCommunicator self();
  // Collective. The ranks of this host (MPI_COMM_TYPE_SHARED), in the order of this communicator.
  MpiCommunicator node() const;
  // Collective. MPI_Comm_dup: the same ranks, separate messages.
  MpiCommunicator duplicate() const;
  // Collective. MPI_Comm_split: the ranks with the same `color`, 0 or more, in the order of this
  // communicator.
  MpiCommunicator split(int color) const;
  ~MpiCommunicator() override;
  MpiCommunicator(MpiCommunicator&&) noexcept;

  int rank() const override;
  int size() const override;
  std::string name() const override { return "mpi"; }
  bool is_test_thread_safe() const override;
  void barrier() override;
  std::unique_ptr<Request> ibarrier();

  // iall_reduce() on a given route, the same on every rank. iall_reduce() itself uses kDirect.
  std::unique_ptr<Request> iall_reduce_along(Route route, Buffer values);
  // The sum of `values` + `errors` along kCirculant, with messages in bfloat16. `errors`, as long
  // as `values`, then holds this rank's rounding errors. Both must outlive the request.
  std::unique_ptr<Request> iall_reduce_as_bfloat16(Span<float> values, float* errors);

  // Longer buffers are sent in pieces of this many elements, because MPI counts are ints. Tests set
  // a small size. Communicators that are made from this one later inherit it.
  void set_piece(std::size_t elements) { piece_ = elements; }

 private:
  friend class HeartbeatRelay;
  struct Handle;
  static constexpr std::size_t kMaxPiece = std::size_t{1} << 28;
  MpiCommunicator(std::unique_ptr<Handle> handle, std::size_t piece);

  int next_tag();
  void do_all_reduce_by(Reduction op, Buffer values) override;
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override {
    return iall_reduce_along(Route::kDirect, values);
  }
  void do_reduce(Buffer values, Reduction op) override;
  void do_broadcast(Buffer values, int root) override;
  std::unique_ptr<Request> do_ireduce(Buffer values) override;
  std::unique_ptr<Request> do_ibroadcast(Buffer values) override;
  std::unique_ptr<Request> do_iall_to_all(const void* mine, Buffer theirs) override;
  std::unique_ptr<Request> do_iall_gather(Buffer values) override;
  void do_sendrecv(int partner, const void* mine, Buffer theirs) override;
  void do_gather(const void* mine, void* all, const std::vector<std::int64_t>& bytes_of) override;

  std::unique_ptr<Handle> handle_;
  std::size_t piece_;
};

}  // namespace tandem::comm
