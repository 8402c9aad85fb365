// An uninitialized array that begins at a cache line. Throws std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tandem::kernels {

template <class Number>
class AlignedArray {
 public:
  explicit AlignedArray(std::size_t size)
      : bytes_(new unsigned char[size * sizeof(Number) + kLine]) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.get());
    numbers_ = reinterpret_cast<Number*>((address + kLine - 1) / kLine * kLine);
  }
  Number* data() const { return numbers_; }

 private:
  // Aligned by hand, because glibc's aligned allocation takes many times longer than its malloc.
  static constexpr std::size_t kLine = 64;
  std::unique_ptr<unsigned char[]> bytes_;
  Number* numbers_;
};

}  // namespace tandem::kernels
