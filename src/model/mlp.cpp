// A multilayer perceptron: two hidden layers of 512 units with ReLU.
#include "networks.hpp"

namespace tandem::model {
namespace {

constexpr std::int64_t kHidden = 512;

class Mlp : public Network {
 public:
  Mlp(InputShape shape, std::int64_t classes) {
    const std::int64_t values = shape.channels * shape.height * shape.width;
    fc1_ = register_module("fc1", torch::nn::Linear(values, kHidden));
    fc2_ = register_module("fc2", torch::nn::Linear(kHidden, kHidden));
    fc3_ = register_module("fc3", torch::nn::Linear(kHidden, classes));
  }

  torch::Tensor forward(torch::Tensor images) override {
    // Logical order (C, H, W) whatever the memory format, so that the weights mean the same in
    // Python.
    torch::Tensor x = images.flatten(1);
    x = fc1_->forward(x).relu_();
    x = fc2_->forward(x).relu_();
    return fc3_->forward(x);
  }

 private:
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr}, fc3_{nullptr};
};

}  // namespace

NetworkPtr make_mlp(InputShape shape, std::int64_t classes) {
  return std::make_shared<Mlp>(shape, classes);
}

}  // namespace tandem::model
