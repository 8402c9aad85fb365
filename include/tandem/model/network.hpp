// What: the base class of every network: images in, one logit per class out.
// Owns: parameters and buffers. Threads: one at a time.
// Throws: c10::Error where a tensor does not fit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  virtual void seed_dropout(std::uint64_t key) { static_cast<void>(key); }
  // Names of parameters that a recipe may train in its first epochs alone.
  virtual std::vector<std::string> early_parameters() const { return {}; }
  // How many images of the training set it wants to see before it is trained from the beginning.
  virtual std::int64_t images_to_learn_from() const { return 0; }
  // Sets what follows from the data alone. images: as forward() takes them, at most so many.
  virtual void init_from_data(const torch::Tensor& images) { static_cast<void>(images); }
};

using NetworkPtr = std::shared_ptr<Network>;

}  // namespace tandem::model
