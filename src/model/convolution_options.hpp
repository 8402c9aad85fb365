// Reads libtorch's options of a convolution. Throws std::bad_variant_access if padding is a word.
#pragma once

#include <variant>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

inline const torch::ExpandingArray<2>& padding_of(const torch::nn::Conv2dImpl& convolution) {
  using std::get;  // libtorch 1.13 has a variant, and a get, of its own
  return get<torch::ExpandingArray<2>>(convolution.options.padding());
}

inline bool all_are(const torch::ExpandingArray<2>& sizes, std::int64_t size) {
  return sizes->front() == size && sizes->back() == size;
}

}  // namespace tandem::model
