// What: torch::nn::Conv2d, with a bfloat16 that is fast on every processor. Private to the module.
// Owns: its parameters. Threads: one at a time. Throws: c10::Error where a tensor does not fit.
//
// libtorch computes bfloat16 convolutions with the processor's own instructions where it has some
// (AVX512-BF16, AMX), and otherwise imitates them one product at a time, slower than in fp32. There
// we round what goes in and what comes out to bfloat16, forwards and backwards, and let the fp32
// kernel do the work. A product of two bfloat16 numbers is exact in fp32, and sums are fp32 in
// either way, so the results differ by the order of summation alone.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Whether this processor multiplies bfloat16 numbers.
bool has_bf16_instructions();

class Conv2dImpl : public torch::nn::Conv2dImpl {
 public:
  using torch::nn::Conv2dImpl::Conv2dImpl;
  // Float, or bfloat16 inside an AutocastScope for it.
  torch::Tensor forward(const torch::Tensor& x);
  // What forward does under autocast without the instructions.
  torch::Tensor forward_rounded(const torch::Tensor& x);
};
TORCH_MODULE(Conv2d);

}  // namespace tandem::model
