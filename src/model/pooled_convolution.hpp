// relu(max_pool2d(convolution(x), 2)) of a 5x5 convolution, by one kernel if a network of few
// channels is trained on CPUs. Throws c10::Error if a tensor has the wrong shape.
//
// The kernel's inputs and outputs are fp32; under bfloat16 autocast they are rounded to bfloat16,
// except the gradients of the images. On processors with bfloat16 instructions it computes only
// layers of very few channels. It adds in another order than libtorch. Without gradients libtorch
// computes, so evaluation equals Python's, bit for bit.
#pragma once

#include "convolution.hpp"

namespace tandem::model {

// x: images x channels x height x width, in any memory format.
torch::Tensor convolve_and_pool(Conv2d& convolution, const torch::Tensor& x);

}  // namespace tandem::model
