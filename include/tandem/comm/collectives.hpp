// The collectives that exchange gradients and weights, in host memory (mpi) or GPU memory (nccl).
// Every rank must issue the same calls in the same order with the same sizes, on one thread. The
// caller owns the buffers, which must live until the call, or its Request, completes. Throws
// InternalError naming the failed call.
//
// On a GPU a collective starts after all work that was queued on the compute stream before it. It
// is complete if work queued afterwards sees the result; the host does not wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tandem/core/span.hpp"

namespace tandem::comm {

// The upper half of a float, for gradients of GPUs.
struct Bfloat16 {
  std::uint16_t bits;
};

enum class DataType { kByte, kFloat32, kFloat64, kInt64, kUint64, kBfloat16 };
constexpr std::size_t bytes_of_type(DataType type) {
  switch (type) {
    case DataType::kByte:
      return 1;
    case DataType::kBfloat16:
      return 2;
    case DataType::kFloat32:
      return 4;
    default:
      return 8;
  }
}
// There is no mean: ranks have different shares of the global batch, so each scales its own sum.
enum class Reduction { kSum, kMin, kMax };

template <typename T>
constexpr DataType data_type_of();
template <>
constexpr DataType data_type_of<std::uint8_t>() {
  return DataType::kByte;
}
template <>
constexpr DataType data_type_of<float>() {
  return DataType::kFloat32;
}
template <>
constexpr DataType data_type_of<double>() {
  return DataType::kFloat64;
}
template <>
constexpr DataType data_type_of<std::int64_t>() {
  return DataType::kInt64;
}
template <>
constexpr DataType data_type_of<std::uint64_t>() {
  return DataType::kUint64;
}
template <>
constexpr DataType data_type_of<Bfloat16>() {
  return DataType::kBfloat16;
}

// A collective in flight, as MPI_Request. Destroy it before the Collectives that started it. Its
// destructor waits, so that the buffer may be freed after it (on a GPU: in the order of the compute
// stream).
class Request {
 public:
  virtual ~Request() = default;
  // On return the result is in the buffer (on a GPU: for work queued on the compute stream
  // afterwards).
  virtual void wait() = 0;
  // Makes progress; true once the result is in the buffer.
  virtual bool test() = 0;
};

class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // "mpi" or "nccl"
  virtual std::string name() const = 0;
  // Whether a Request makes progress without calls such as its test().
  virtual bool has_async_progress() const { return false; }
  // Whether test() of a Request may be called on another thread than the one that started it, one
  // thread at a time.
  virtual bool is_test_thread_safe() const { return false; }

  // In place: every rank ends with the same bits.
  template <typename T>
  void all_reduce(Span<T> values, Reduction reduction = Reduction::kSum) {
    do_all_reduce(values.data(), values.size(), data_type_of<T>(), reduction);
  }
  // Non-blocking all_reduce() with kSum.
  template <typename T>
  std::unique_ptr<Request> iall_reduce(Span<T> values) {
    return do_iall_reduce(values.data(), values.size(), data_type_of<T>());
  }
  template <typename T>
  void broadcast(Span<T> values, int root = 0) {
    do_broadcast(values.data(), values.size() * sizeof(T), root);
  }
  // Throws if the connection failed since the last call. Any thread, also while another one waits.
  // Does nothing if calls report their failures themselves.
  virtual void check() {}

 private:
  virtual void do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) = 0;
  virtual std::unique_ptr<Request> do_iall_reduce(void* data, std::size_t count, DataType type) = 0;
  virtual void do_broadcast(void* data, std::size_t bytes, int root) = 0;
};

}  // namespace tandem::comm
