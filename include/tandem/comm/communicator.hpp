// What: the collectives that training needs, over whatever carries them.
// Owns: its connection; buffers stay the caller's and must live until the call (or its Pending) is
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

#include "tandem/core/span.hpp"

namespace tandem::comm {

enum class DataType { kByte, kFloat32, kFloat64, kInt64, kUint64 };
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

// One collective in flight. Its destructor waits, so that the buffer may be freed after it.
class Pending {
 public:
  virtual ~Pending() = default;
  // Returns when the result is in the buffer.
  virtual void wait() = 0;
  // Lets the collective advance; true once the result is in the buffer.
  virtual bool test() = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // "mpi"
  virtual std::string name() const = 0;

  // In place: every rank ends with the same bits.
  template <typename T>
  void all_reduce(Span<T> values, Reduction reduction = Reduction::kSum) {
    do_all_reduce(values.data(), values.size(), data_type_of<T>(), reduction);
  }
  // The same sum, started now and finished by the Pending.
  template <typename T>
  std::unique_ptr<Pending> start_all_reduce(Span<T> values) {
    return do_start_all_reduce(values.data(), values.size(), data_type_of<T>());
  }
  // In place on `root`; elsewhere the values are left as they are.
  template <typename T>
  void reduce(Span<T> values, Reduction reduction = Reduction::kSum, int root = 0) {
    do_reduce(values.data(), values.size(), data_type_of<T>(), reduction, root);
  }
  template <typename T>
  void broadcast(Span<T> values, int root = 0) {
    do_broadcast(values.data(), values.size() * sizeof(T), root);
  }
  // Sends `mine` to `partner`, who does the same at the same time; both of one size.
  template <typename T>
  void swap(int partner, Span<const T> mine, Span<T> theirs) {
    do_swap(partner, mine.data(), theirs.data(), mine.size() * sizeof(T));
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
  virtual void do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) = 0;
  virtual std::unique_ptr<Pending> do_start_all_reduce(void* data, std::size_t count,
                                                       DataType type) = 0;
  virtual void do_reduce(void* data, std::size_t count, DataType type, Reduction op, int root) = 0;
  virtual void do_broadcast(void* data, std::size_t bytes, int root) = 0;
  virtual void do_swap(int partner, const void* mine, void* theirs, std::size_t bytes) = 0;
  // On rank 0 `bytes_of[r]` bytes of each rank, one after the other, into `all`.
  virtual void do_gather(const void* data, std::size_t bytes, void* all,
                         const std::vector<std::int64_t>& bytes_of) = 0;
};

}  // namespace tandem::comm
