// Batch normalization with pooling and activation by the operators for GPUs. Throws what libtorch
// throws.
#pragma once

#include "batch_statistics.hpp"
#include "tandem/model/fused_operators.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Whether the operators compute this layer. It must train on a device that has them. The images
// must be in channels-last layout, have a multiple of 8 channels, and more than one pixel after
// pooling.
bool takes_fused_norm(const torch::Tensor& x, bool is_training);
// activation(norm(x) + residual), with 2x2 max-pooling before or after the normalization.
// `residual`: undefined, or without pooling of the result's shape. fused::NormInput has the forms.
// Moves the running statistics.
torch::Tensor fused_norm(const NormTensors& norm, const torch::Tensor& x, fused::NormForm form,
                         const torch::Tensor& residual = {});

}  // namespace tandem::model
