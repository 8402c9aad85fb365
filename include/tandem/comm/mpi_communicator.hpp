// What: a Communicator over MPI, for host memory.
// Owns: a duplicate of the MPI communicator, freed by the destructor (before the Runtime's).
// Threads: one at a time. Throws: InternalError naming the MPI call; UnavailableError for a sum of
// bfloat16, which MPI does not know.
#pragma once

#include <memory>
#include <string>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

class MpiCommunicator final : public Communicator {
 public:
  // Collective. All ranks of the job.
  static MpiCommunicator world();
  // This rank alone.
  static MpiCommunicator self();
  // Collective. The ranks that share this rank's memory, in the order of this communicator.
  MpiCommunicator node() const;
  // Collective. The same ranks; what is sent here meets nothing of this communicator's.
  MpiCommunicator duplicate() const;
  // Collective. The ranks that bring the same `color`, 0 or more, in the order of this
  // communicator.
  MpiCommunicator split(int color) const;
  ~MpiCommunicator() override;
  MpiCommunicator(MpiCommunicator&&) noexcept;

  int rank() const override;
  int size() const override;
  std::string name() const override { return "mpi"; }
  bool is_test_thread_safe() const override;
  void barrier() override;

  // How sums that are started travel, the same on every rank: along a ring, or, at first, from each
  // rank to all. Bits are the same; the first sends less over links where hosts have several ranks
  // that follow each other, the second has fewer messages that wait for each other.
  void use_ring_all_reduce(bool along);

  // Longer buffers travel in pieces of this many elements (MPI counts are ints); tests make it
  // small.
  void set_piece(std::size_t elements) { piece_ = elements; }

 private:
  friend class BareAllReduce;
  friend class HeartbeatRelay;
  struct Handle;
  explicit MpiCommunicator(std::unique_ptr<Handle> handle);

  void do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) override;
  std::unique_ptr<Request> do_iall_reduce(void* data, std::size_t count, DataType type) override;
  void do_reduce(void* data, std::size_t count, DataType type, Reduction op, int root) override;
  void do_broadcast(void* data, std::size_t bytes, int root) override;
  std::unique_ptr<Request> do_ireduce(void* data, std::size_t count, DataType type,
                                      int root) override;
  std::unique_ptr<Request> do_ibroadcast(void* data, std::size_t bytes, int root) override;
  std::unique_ptr<Request> do_iall_to_all(const void* mine, void* theirs, std::size_t count,
                                          DataType type) override;
  std::unique_ptr<Request> do_iall_gather(void* values, std::size_t count, DataType type) override;
  void do_sendrecv(int partner, const void* mine, void* theirs, std::size_t bytes) override;
  void do_gather(const void* data, std::size_t bytes, void* all,
                 const std::vector<std::int64_t>& bytes_of) override;

  std::unique_ptr<Handle> handle_;
  std::size_t piece_ = std::size_t{1} << 28;
};

}  // namespace tandem::comm
