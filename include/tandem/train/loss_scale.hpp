// The factor by which fp16 training multiplies its loss, so that small gradients are not rounded to
// zero.
#pragma once

#include <cstdint>

namespace tandem::train {

// As in torch.amp.GradScaler of PyTorch 2.11: doubled after 2,000 good steps, halved after a
// gradient that is not finite.
struct LossScale {
  double scale = 0;    // 0: as at the start of a run, first_loss_scale(1)
  int good_steps = 0;  // since it changed
};

// 65,536 for the gradient of a mean, with `summed_images` 1. For that of a sum over
// `summed_images`, 65,536 divided by their number rounded up to a power of two, so that the first
// steps are not skipped; at least 1.
LossScale first_loss_scale(std::uint64_t summed_images);

}  // namespace tandem::train
