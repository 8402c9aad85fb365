// Gradient checkpointing (Chen et al., "Training Deep Nets with Sublinear Memory Cost", arXiv
// 1604.06174): training keeps only the input of a block, and backward computes the block again.
// Throws what libtorch throws.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// blocks->forward(x), with the same bits, also of gradients and of the blocks' buffers. With
// `is_on`, and while gradients are recorded, each block's activations live only while it computes.
torch::Tensor forward_through(torch::nn::Sequential& blocks, torch::Tensor x, bool is_on);

}  // namespace tandem::model
