// torch::nn::Linear, also with ReLU, for training bfloat16 networks on processors with AMX: one
// operation each way instead of libtorch's fifteen, which cost more than the arithmetic of small
// layers. Work runs on libtorch's threads. Throws std::bad_alloc, c10::Error.
//
// A linear layer is a convolution of images of one pixel. Gradients of weights and bias are fp32
// sums, while libtorch's are rounded to bfloat16.
#pragma once

#include "tandem/kernels/convolution.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Under autocast to bfloat16 with gradients wanted; else libtorch's layer, and relu where asked
// for.
torch::Tensor linear(torch::nn::Linear& layer, const torch::Tensor& x,
                     bool with_amx = kernels::has_amx());
torch::Tensor linear_relu(torch::nn::Linear& layer, const torch::Tensor& x,
                          bool with_amx = kernels::has_amx());
// The computation with tiles; without AMX by plain loops, for tests.
torch::Tensor linear_with_tiles(torch::nn::Linear& layer, const torch::Tensor& x, bool has_relu,
                                bool with_amx);

}  // namespace tandem::model
