// What: numbers that begin where a line of the cache does, with any values at first. Private to the
// module. Owns: their memory. Threads: as a plain array. Throws: std::bad_alloc.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace tandem::kernels {

template <class Number>
class AlignedArray {
 public:
  explicit AlignedArray(std::size_t size)
      : numbers_(static_cast<Number*>(::operator new(size * sizeof(Number), kLine))) {}
  Number* data() const { return numbers_.get(); }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(Number* numbers) const { ::operator delete(numbers, kLine); }
  };
  std::unique_ptr<Number, Free> numbers_;
};

}  // namespace tandem::kernels
