// torch::nn::Conv2d with a bfloat16 path that is fast on every processor. One thread at a time.
// Throws c10::Error if a tensor has the wrong shape.
//
// libtorch computes bfloat16 convolutions by the processor's instructions if it has some
// (AVX512-BF16, AMX), and otherwise emulates them product by product, slower than fp32. In that
// case inputs and outputs are rounded to bfloat16, forward and backward, and the fp32 kernel
// computes. A product of two bfloat16 values is exact in fp32, and sums are fp32 either way, so
// results differ by the order of summation only.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Whether this processor has bfloat16 instructions.
bool has_bf16_instructions();

class Conv2dImpl : public torch::nn::Conv2dImpl {
 public:
  using torch::nn::Conv2dImpl::Conv2dImpl;
  // Float, or bfloat16 inside an AutocastScope for it.
  torch::Tensor forward(const torch::Tensor& x);
  // Forward under autocast without the instructions.
  torch::Tensor forward_rounded(const torch::Tensor& x);
};
TORCH_MODULE(Conv2d);

}  // namespace tandem::model
