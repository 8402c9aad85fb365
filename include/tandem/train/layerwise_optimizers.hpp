// LARS and LAMB, for large batches: SGD and Adam whose update of each tensor of more than one row,
// which is a filter or a matrix, is scaled by a trust ratio of norms. Biases, norms and single rows
// get no weight decay and a ratio of 1. One thread at a time. Throws what libtorch throws.
//
// You et al., "Large Batch Training of Convolutional Networks" (arXiv 1708.03888) and "Large Batch
// Optimization for Deep Learning" (arXiv 1904.00962), in the form of timm 1.0's Lars and Lamb with
// always_adapt for these tensors, and without Lamb's own clipping. On a CPU norms are summed in
// double, in an order that depends on the tensor's size only.
#pragma once

#include <memory>

#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// `options.name` is "lars" or "lamb".
bool is_layerwise(const OptimizerOptions& options);
// For an arena on the CPU.
std::unique_ptr<Optimizer> make_layerwise_optimizer(const OptimizerOptions& options,
                                                    const ParameterArena& arena);
// The same on the arena's device, within rounding and with the same state. It reads nothing back.
std::unique_ptr<Optimizer> make_device_layerwise_optimizer(const OptimizerOptions& options,
                                                           const ParameterArena& arena);

}  // namespace tandem::train
