// What: 2x2 max-pooling, by kernels of our own where bfloat16 images with channels last are trained
// on CPUs; libtorch computes the rest. Private to the module.
// Owns: nothing. Threads: any. Throws: c10::Error where a tensor does not fit.
//
// For backward a byte is kept for each result, instead of the input and eight bytes. Values and
// gradients are libtorch's, bit for bit.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

torch::Tensor max_pool(const torch::Tensor& x);

}  // namespace tandem::model
