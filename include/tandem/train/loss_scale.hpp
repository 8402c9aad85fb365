// The factor by which fp16 training multiplies its loss, so that small gradients are not rounded to
// zero.
#pragma once

namespace tandem::train {

// As in torch.amp.GradScaler of PyTorch 2.11: doubled after 2,000 good steps, halved after a
// gradient that is not finite.
struct LossScale {
  double scale = 0;    // 0: as at the start of a run, 65,536
  int good_steps = 0;  // since it changed
};

}  // namespace tandem::train
