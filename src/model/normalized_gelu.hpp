// Batch normalization without scale, followed by GELU. tandem's kernels compute if bfloat16 images
// in channels-last layout are trained on CPUs, libtorch otherwise. Throws c10::Error if a tensor
// has the wrong shape.
//
// Backward keeps only the input. Statistics are of the same values as libtorch's, summed in another
// order; the normalized value is rounded to bfloat16 before GELU, and its gradient after it.
#pragma once

#include "batch_statistics.hpp"
#include "gelu.hpp"

namespace tandem::model {

// gelu(batch_norm(x)) with the batch's statistics, which also move the running ones, or, not
// `is_training`, with the running ones. norm.weight: undefined.
torch::Tensor normalized_gelu(const NormTensors& norm, const Gelu& gelu, const torch::Tensor& x,
                              bool is_training);

}  // namespace tandem::model
