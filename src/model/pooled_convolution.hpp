// What: relu(max_pool2d(convolution(x), 2)) of a 5x5 convolution, by one kernel of our own where a
// network of few channels is trained on CPUs. Private to the module.
// Owns: nothing. Threads: any. Throws: c10::Error where a tensor does not fit.
//
// The kernel takes and gives fp32 numbers, in a scope of bfloat16 such as are bfloat16 too; what
// flows back stays fp32. With bfloat16 instructions only layers of very few channels are ours. Sums
// are added in another order than libtorch adds them. Without gradients libtorch computes, so that
// what is evaluated is what Python evaluates, bit for bit.
#pragma once

#include "convolution.hpp"

namespace tandem::model {

// Of images x channels x height x width, in any memory format.
torch::Tensor convolve_and_pool(Conv2d& convolution, const torch::Tensor& x);

}  // namespace tandem::model
