// Learning rates of layers, for fine-tuning. One thread at a time. Throws what the optimizer
// throws.
#pragma once

#include <memory>
#include <vector>

#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// Wraps `optimizer`: updates of parameters that fit a pattern are multiplied by its factor. Of
// several patterns the last one that fits counts. This scales the learning rate of every optimizer
// whose update is a multiple of it. Returns `optimizer` itself if no factor differs from 1.
std::unique_ptr<Optimizer> with_rate_scales(std::unique_ptr<Optimizer> optimizer,
                                            const ParameterArena& arena,
                                            const std::vector<RateScale>& scales);

}  // namespace tandem::train
