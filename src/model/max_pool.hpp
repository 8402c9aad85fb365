// 2x2 max pooling. tandem's kernels compute if bfloat16 images in channels-last layout are trained
// on CPUs, libtorch otherwise. Backward keeps one byte per result, instead of the input and eight
// bytes. Values and gradients equal libtorch's, bit for bit. Throws c10::Error if a tensor has the
// wrong shape.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

torch::Tensor max_pool(const torch::Tensor& x);

}  // namespace tandem::model
