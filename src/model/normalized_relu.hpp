// What: BatchNorm2d with its ReLU, and with 2x2 max-pooling, by kernels of our own where bfloat16
// images with channels last are trained on CPUs; libtorch computes the rest. Private to the module.
// Owns: nothing. Threads: any. Throws: c10::Error where a tensor does not fit.
//
// For backward the input is kept, and a byte for each pooled result: neither the results that
// pooling leaves out nor libtorch's eight bytes to remember each choice. No gradient is written of
// what pooling left out. Statistics are of the same numbers as libtorch's, summed in another order,
// and the result is rounded to bfloat16 once.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// relu(norm(x)), which changes the running statistics as norm does.
torch::Tensor normalized_relu(torch::nn::BatchNorm2d& norm, const torch::Tensor& x);
// relu(max_pool2d(norm(x), 2)).
torch::Tensor pooled_normalized_relu(torch::nn::BatchNorm2d& norm, const torch::Tensor& x);

}  // namespace tandem::model
