// The collectives that sum gradients, in host memory (mpi) or GPU memory (nccl).
// Every rank must issue the same calls in the same order with the same sizes, on one thread. The
// caller owns the buffers, which must live until the call, or its Request, completes. Throws
// InternalError naming the failed call, on a GPU UnavailableError naming the GPU too.
//
// On a GPU a collective starts after all work that was queued on the compute stream before it. It
// is complete if work queued afterwards sees the result; the host does not wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
// Address, count and type at run time, like the buffer arguments of MPI.
struct Buffer {
  Buffer(Span<std::uint8_t> bytes) : Buffer(bytes.data(), bytes.size(), DataType::kByte) {}
  Buffer(Span<float> values) : Buffer(values.data(), values.size(), DataType::kFloat32) {}
  Buffer(Span<double> values) : Buffer(values.data(), values.size(), DataType::kFloat64) {}
  Buffer(Span<std::int64_t> values) : Buffer(values.data(), values.size(), DataType::kInt64) {}
  Buffer(Span<std::uint64_t> values) : Buffer(values.data(), values.size(), DataType::kUint64) {}
  Buffer(Span<Bfloat16> values) : Buffer(values.data(), values.size(), DataType::kBfloat16) {}
  Buffer(void* first, std::size_t count, DataType type_of_each)
      : data(first), size(count), type(type_of_each) {}

  std::size_t bytes() const { return size * bytes_of_type(type); }
  // Requires kFloat32.
  Span<float> floats() const { return {static_cast<float*>(data), size}; }
  // Whether these are floats that begin in `range`.
  bool begins_in(Span<const float> range) const {
    const std::less<const void*> is_before;  // a total order of pointers, unlike <
    return type == DataType::kFloat32 && !is_before(data, range.begin()) &&
           is_before(data, range.end());
  }

  void* data;
  std::size_t size;  // values
  DataType type;
};

// A collective in flight, as MPI_Request. Destroy it before the Collectives that started it. Its
// destructor waits, so that the buffer may be freed after it (on a GPU: in the order of the compute
// stream).
class Request {
 public:
  virtual ~Request() = default;
  // On return the result is in the buffer (on a GPU: for work queued on the compute stream
  // afterwards).
  virtual void wait() {
    while (!test()) {
    }
  }
  // Makes progress; true once the result is in the buffer.
  virtual bool test() = 0;
};

// Tests each, because a Request may advance in its own test() only. True once all are complete.
inline bool test_all(const std::vector<std::unique_ptr<Request>>& requests) {
  bool are_complete = true;
  for (const auto& each : requests) are_complete = each->test() && are_complete;
  return are_complete;
}

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

  // The sum, in place: every rank ends with the same bits. There is no mean: ranks have different
  // shares of the global batch, so each scales its own sum.
  void all_reduce(Buffer values) { do_all_reduce(values); }
  // Non-blocking all_reduce().
  std::unique_ptr<Request> iall_reduce(Buffer values) { return do_iall_reduce(values); }
  // Clears the error feedback. Call it after all-reduces that were made for measurement only. Does
  // nothing if sums are not rounded.
  virtual void reset_error_feedback() {}
  // Throws if the connection failed since the last call. Any thread, also while another one waits.
  // Does nothing if calls report their failures themselves.
  virtual void check() {}

 private:
  virtual void do_all_reduce(Buffer values) = 0;
  virtual std::unique_ptr<Request> do_iall_reduce(Buffer values) = 0;
};

}  // namespace tandem::comm
