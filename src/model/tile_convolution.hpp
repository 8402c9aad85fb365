// Training of bfloat16 convolutions on processors with AMX, by kernels/convolution.hpp if that is
// faster than libtorch; the sizes alone decide. Work runs on libtorch's threads. Throws
// std::bad_alloc.
//
// Gradients of filters are fp32 sums, while libtorch's are rounded to bfloat16.
#pragma once

#include "tandem/kernels/convolution.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Whether convolve_with_tiles should compute: under autocast to bfloat16, with gradients required,
// for images and filters in channels-last layout, if all sizes are large enough.
bool fits_tiles(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x);

// torch::conv2d of x and the convolution's filters, both rounded to bfloat16. Without AMX by plain
// loops, for tests.
torch::Tensor convolve_with_tiles(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x,
                                  bool with_amx = kernels::has_amx());

}  // namespace tandem::model
