// BatchNorm2d with ReLU, optionally with 2x2 max pooling. tandem's kernels compute if bfloat16
// images in channels-last layout are trained on CPUs, libtorch otherwise. Throws c10::Error if a
// tensor has the wrong shape.
//
// Backward keeps the input and one byte per pooled result, instead of the values that pooling drops
// and libtorch's eight bytes per argmax. No gradient is written for dropped values. Statistics are
// of the same values as libtorch's, summed in another order, and the result is rounded to bfloat16
// once.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// relu(norm(x)), which changes the running statistics as norm does.
torch::Tensor normalized_relu(torch::nn::BatchNorm2d& norm, const torch::Tensor& x);
// relu(max_pool2d(norm(x), 2)).
torch::Tensor pooled_normalized_relu(torch::nn::BatchNorm2d& norm, const torch::Tensor& x);

}  // namespace tandem::model
