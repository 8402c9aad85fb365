// The base class of all networks: images in, one logit per class out. One thread at a time. Throws
// c10::Error if a tensor has the wrong shape.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// The size of one image, in pixels.
struct InputShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

class Network : public torch::nn::Module {
 public:
  // images: float [N, channels, height, width], N >= 1, normalized, in any memory format. Returns
  // logits [N, classes]: float, or bfloat16 under an AutocastScope.
  virtual torch::Tensor forward(torch::Tensor images) = 0;
  // Modules that compute as in evaluation also while the network trains, such as frozen batch
  // normalization.
  void keep_in_evaluation(std::vector<std::shared_ptr<torch::nn::Module>> modules) {
    in_evaluation_ = std::move(modules);
    train(is_training());
  }
  void train(bool on = true) override {
    torch::nn::Module::train(on);
    for (const auto& module : in_evaluation_) module->eval();
  }
  // Seeds the random numbers of later forward() calls, for dropout: they depend on `key` only.
  virtual void seed_dropout(std::uint64_t key) { static_cast<void>(key); }
  // From now on, training keeps only the inputs of the network's blocks, and backward recomputes
  // the blocks, with the same bits. False if the network has no blocks.
  virtual bool recompute_blocks() { return false; }
  // Names of the parameters that a recipe trains in its first epochs only.
  virtual std::vector<std::string> early_parameters() const { return {}; }
  // The number of training images for init_from_data(); 0: none.
  virtual std::int64_t images_to_learn_from() const { return 0; }
  // Initializes parameters from data. images: as in forward(), at most images_to_learn_from() of
  // them.
  virtual void init_from_data(const torch::Tensor& images) { static_cast<void>(images); }

 private:
  std::vector<std::shared_ptr<torch::nn::Module>> in_evaluation_;
};

using NetworkPtr = std::shared_ptr<Network>;

}  // namespace tandem::model
