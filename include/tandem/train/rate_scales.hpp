// Learning rates of layers, for fine-tuning. One thread at a time. Throws what the optimizer
// throws.
#pragma once

#include <memory>
#include <vector>

#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// `optimizer`, whose updates of the parameters that fit a pattern are multiplied by its factor; of
// several patterns the last one that fits counts. That is a factor of the learning rate for every
// optimizer whose update is a multiple of it. Without scales: `optimizer` itself.
std::unique_ptr<Optimizer> with_rate_scales(std::unique_ptr<Optimizer> optimizer,
                                            const ParameterArena& arena,
                                            const std::vector<RateScale>& scales);

}  // namespace tandem::train
