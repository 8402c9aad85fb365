// What every kind of Collectives must do, as typed tests over Case<Subject, Value>.
//
// A Subject has collectives() and a type Memory<T>, made of (Subject&, std::vector<T>), with span()
// for a collective and read() for what it then holds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/bfloat16.hpp"
#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

template <typename SubjectType, typename ValueType>
struct Case {
  using Subject = SubjectType;
  using Value = ValueType;
};

template <typename T>
struct HostMemory {
  template <typename Subject>
  HostMemory(Subject&, std::vector<T> initial) : values(std::move(initial)) {}
  Span<T> span() { return Span<T>(values); }
  const std::vector<T>& read() const { return values; }
  std::vector<T> values;
};

template <typename T>
T from_number(int number) {
  return static_cast<T>(number);
}
// Exact: whole numbers below 256 need no more bits.
template <>
inline Bfloat16 from_number<Bfloat16>(int number) {
  return narrowed(static_cast<float>(number));
}
template <typename T>
int to_number(T value) {
  return static_cast<int>(value);
}
inline int to_number(Bfloat16 value) { return static_cast<int>(widened(value)); }

// Four ranks' sum is at most 236.
inline std::vector<int> numbers_of_rank(std::size_t count, int rank) {
  std::vector<int> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(i % 50) + 3 * rank + 1;
  return numbers;
}

inline std::vector<int> numbers_of_all(std::size_t count, int size,
                                       Reduction reduction = Reduction::kSum) {
  std::vector<int> result = numbers_of_rank(count, 0);
  for (int rank = 1; rank < size; ++rank) {
    const std::vector<int> other = numbers_of_rank(count, rank);
    for (std::size_t i = 0; i < count; ++i) {
      result[i] = reduction == Reduction::kSum   ? result[i] + other[i]
                  : reduction == Reduction::kMin ? std::min(result[i], other[i])
                                                 : std::max(result[i], other[i]);
    }
  }
  return result;
}

template <typename T>
std::vector<T> from_numbers(const std::vector<int>& numbers) {
  std::vector<T> values;
  for (const int number : numbers) values.push_back(from_number<T>(number));
  return values;
}

template <typename T>
std::vector<int> to_numbers(const std::vector<T>& values) {
  std::vector<int> numbers;
  for (const T& value : values) numbers.push_back(to_number(value));
  return numbers;
}

// 0, 1, odd, and more than the piece that MPI's buffers are cut into.
constexpr std::size_t kPiece = 100;
constexpr std::size_t kSizes[] = {0, 1, 37, 100, 1001};

template <typename TypeParam>
class Conformance : public ::testing::Test {
 protected:
  using Subject = typename TypeParam::Subject;
  using Value = typename TypeParam::Value;
  using Memory = typename Subject::template Memory<Value>;

  Collectives& collectives() { return subject_.collectives(); }
  Memory mine(std::size_t size) {
    return Memory(subject_, from_numbers<Value>(numbers_of_rank(size, collectives().rank())));
  }
  std::vector<int> expected(std::size_t size) { return numbers_of_all(size, collectives().size()); }

 private:
  Subject subject_;
};

// Names the instances as GoogleTest does by itself; without this argument clang 19 warns of C++20.
struct CaseNumber {
  template <typename Case>
  static std::string GetName(int index) {
    return std::to_string(index);
  }
};

TYPED_TEST_SUITE_P(Conformance);

TYPED_TEST_P(Conformance, AllReduceSums) {
  for (const std::size_t size : kSizes) {
    auto memory = this->mine(size);
    this->collectives().all_reduce(memory.span());
    EXPECT_EQ(to_numbers(memory.read()), this->expected(size)) << size;
  }
}

TYPED_TEST_P(Conformance, StartedSumsFinishInAnyInterleaving) {
  auto first = this->mine(1001);
  auto second = this->mine(37);
  auto third = this->mine(100);
  auto first_request = this->collectives().iall_reduce(first.span());
  auto second_request = this->collectives().iall_reduce(second.span());
  this->collectives().all_reduce(third.span());
  second_request->wait();
  while (!first_request->test()) {
  }
  this->collectives().check();
  EXPECT_EQ(to_numbers(first.read()), this->expected(1001));
  EXPECT_EQ(to_numbers(second.read()), this->expected(37));
  EXPECT_EQ(to_numbers(third.read()), this->expected(100));
}

TYPED_TEST_P(Conformance, APendingThatIsDroppedHasFinished) {
  auto memory = this->mine(1001);
  this->collectives().iall_reduce(memory.span());
  EXPECT_EQ(to_numbers(memory.read()), this->expected(1001));
}

REGISTER_TYPED_TEST_SUITE_P(Conformance, AllReduceSums, StartedSumsFinishInAnyInterleaving,
                            APendingThatIsDroppedHasFinished);

}  // namespace tandem::comm
