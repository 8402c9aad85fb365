// What: the base class of every network: images in, one logit per class out.
// Owns: parameters and buffers. Threads: one at a time.
// Throws: c10::Error where a tensor does not fit.
#pragma once

#include <cstdint>
#include <memory>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Of one image, in pixels.
struct InputShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

class Network : public torch::nn::Module {
 public:
  // images: float [N, channels, height, width], N >= 1, normalised, in any memory format.
  // Returns logits [N, classes]: float, or bfloat16 inside an AutocastScope for it.
  virtual torch::Tensor forward(torch::Tensor images) = 0;
  // Random numbers that forward() draws from now on, for dropout, follow from `key` alone. Nothing
  // where it draws none.
  virtual void draw_by(std::uint64_t key) { static_cast<void>(key); }
};

using NetworkPtr = std::shared_ptr<Network>;

}  // namespace tandem::model
