// What: batch normalization without a scale, and GELU after it, by kernels of our own where
// bfloat16 images with channels last are trained on CPUs; libtorch computes the rest. Private to
// the module. Owns: nothing. Threads: any. Throws: c10::Error where a tensor does not fit.
//
// For backward only the input is kept. Statistics are of the same numbers as libtorch's, summed in
// another order; what is normalized is rounded to bfloat16 before GELU, and its gradient after it.
#pragma once

#include "batch_statistics.hpp"
#include "gelu.hpp"

namespace tandem::model {

// gelu(batch_norm(x)) with the batch's statistics, which also move the running ones, or, not
// `is_training`, with the running ones. norm.weight: undefined.
torch::Tensor normalized_gelu(const NormTensors& norm, const Gelu& gelu, const torch::Tensor& x,
                              bool is_training);

}  // namespace tandem::model
