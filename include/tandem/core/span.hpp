// A pointer and a length as a range (C++17 has no std::span). The memory must outlive the span.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace tandem {

template <typename T>
class Span {
 public:
  Span() = default;
  Span(T* data, std::size_t size) : data_(data), size_(size) {}
  Span(std::vector<std::remove_const_t<T>>& values) : data_(values.data()), size_(values.size()) {}
  template <typename U = T, typename = std::enable_if_t<std::is_const_v<U>>>
  Span(const std::vector<std::remove_const_t<T>>& values)
      : data_(values.data()), size_(values.size()) {}
  template <typename U = T, typename = std::enable_if_t<std::is_const_v<U>>>
  Span(Span<std::remove_const_t<U>> other) : data_(other.data()), size_(other.size()) {}

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) const { return data_[i]; }
  Span subspan(std::size_t first, std::size_t count) const { return Span(data_ + first, count); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tandem
