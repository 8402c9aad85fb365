// What: all collectives that a job needs, for host memory: those that carry gradients, and those by
// which ranks agree.
// Owns: its connection; buffers stay the caller's and must live until the call (or its Request) is
// done. Threads: one thread at a time, the same on every rank. Throws: InternalError naming the
// failed call.
//
// Every rank must issue the same calls in the same order with the same sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/comm/collectives.hpp"
#include "tandem/core/span.hpp"

namespace tandem::comm {

class Communicator : public Collectives {
 public:
  // In place on `root`; elsewhere the values are left as they are.
  template <typename T>
  void reduce(Span<T> values, Reduction reduction = Reduction::kSum, int root = 0) {
    do_reduce(values.data(), values.size(), data_type_of<T>(), reduction, root);
  }
  // The same, and broadcast(), started now and finished by the Request. They are matched in the
  // order of their starts, so whoever starts some when others have ended uses a communicator for
  // each kind (comm/pipeline.hpp).
  template <typename T>
  std::unique_ptr<Request> ireduce(Span<T> values, int root = 0) {
    return do_ireduce(values.data(), values.size(), data_type_of<T>(), root);
  }
  template <typename T>
  std::unique_ptr<Request> ibroadcast(Span<T> values, int root = 0) {
    return do_ibroadcast(values.data(), values.size() * sizeof(T), root);
  }
  // Both are cut into as many equal parts as there are ranks: part r of `mine` goes to rank r, and
  // part r of `theirs` comes from it. Both must live until it is done.
  template <typename T>
  std::unique_ptr<Request> iall_to_all(Span<const T> mine, Span<T> theirs) {
    return do_iall_to_all(mine.data(), theirs.data(), mine.size(), data_type_of<T>());
  }
  // In place, cut likewise: every rank gets part r as rank r has it.
  template <typename T>
  std::unique_ptr<Request> iall_gather(Span<T> values) {
    return do_iall_gather(values.data(), values.size(), data_type_of<T>());
  }
  // Sends `mine` to `partner`, who does the same at the same time; both of one size.
  template <typename T>
  void sendrecv(int partner, Span<const T> mine, Span<T> theirs) {
    do_sendrecv(partner, mine.data(), theirs.data(), mine.size() * sizeof(T));
  }
  virtual void barrier() = 0;

  // One value, for readability at the call.
  template <typename T>
  T all_reduce_value(T value, Reduction reduction = Reduction::kSum) {
    all_reduce(Span<T>(&value, 1), reduction);
    return value;
  }
  std::string broadcast_string(std::string text, int root = 0);
  // On rank 0 the text of every rank in rank order; elsewhere empty.
  std::vector<std::string> gather_strings(const std::string& text);

 private:
  virtual void do_reduce(void* data, std::size_t count, DataType type, Reduction op, int root) = 0;
  virtual std::unique_ptr<Request> do_ireduce(void* data, std::size_t count, DataType type,
                                              int root) = 0;
  virtual std::unique_ptr<Request> do_ibroadcast(void* data, std::size_t bytes, int root) = 0;
  virtual std::unique_ptr<Request> do_iall_to_all(const void* mine, void* theirs, std::size_t count,
                                                  DataType type) = 0;
  virtual std::unique_ptr<Request> do_iall_gather(void* values, std::size_t count,
                                                  DataType type) = 0;
  virtual void do_sendrecv(int partner, const void* mine, void* theirs, std::size_t bytes) = 0;
  // On rank 0 `bytes_of[r]` bytes of each rank, one after the other, into `all`.
  virtual void do_gather(const void* data, std::size_t bytes, void* all,
                         const std::vector<std::int64_t>& bytes_of) = 0;
};

}  // namespace tandem::comm
