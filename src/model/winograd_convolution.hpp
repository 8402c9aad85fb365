// Computes 3x3 convolutions with stride 1 in training by kernels/winograd.hpp, on libtorch's
// threads. Throws std::bad_alloc.
//
// Gradients of filters are fp32 sums, also of bfloat16 layers.
#pragma once

#include "tandem/kernels/winograd.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Whether this form is applicable and faster than libtorch: while autograd records, for images and
// filters in channels-last layout that are large enough.
bool fits_winograd(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x,
                   const kernels::WinogradForm& form);

// torch::conv2d of x and the convolution's filters; both rounded to bfloat16 if the form is for it.
torch::Tensor convolve_by_winograd(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x,
                                   const kernels::WinogradForm& form);

}  // namespace tandem::model
