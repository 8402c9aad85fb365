// LeNet-5 (LeCun et al. 1998) with ReLU and max-pooling, under two names. `lenet` pads images below
// 32 pixels by 2, so that MNIST's 28x28 give the 16x5x5 features of the original. `simple` is the
// CNN of PyTorch's CIFAR-10 tutorial: the same layers, never padded.
#include "layers.hpp"
#include "networks.hpp"

namespace tandem::model {
namespace {

constexpr std::int64_t kKernel = 5;

// Pixels along one side after two times (5x5 convolution, halving); the second convolution is never
// padded.
std::int64_t features_of(std::int64_t pixels, std::int64_t padding) {
  const std::int64_t first = (pixels + 2 * padding - kKernel + 1) / 2;
  return (first - kKernel + 1) / 2;
}

class LeNet : public Network {
 public:
  LeNet(InputShape shape, std::int64_t classes, std::int64_t padding) {
    using torch::nn::Conv2dOptions;
    const std::int64_t features =
        16 * features_of(shape.height, padding) * features_of(shape.width, padding);
    conv1_ = register_module("conv1",
                             Conv2d(Conv2dOptions(shape.channels, 6, kKernel).padding(padding)));
    conv2_ = register_module("conv2", Conv2d(Conv2dOptions(6, 16, kKernel)));
    fc1_ = register_module("fc1", torch::nn::Linear(features, 120));
    fc2_ = register_module("fc2", torch::nn::Linear(120, 84));
    fc3_ = register_module("fc3", torch::nn::Linear(84, classes));
  }

  torch::Tensor forward(torch::Tensor images) override {
    torch::Tensor x = convolve_and_pool(conv1_, images);
    x = convolve_and_pool(conv2_, x).flatten(1);
    x = linear_relu(fc1_, x);
    x = linear_relu(fc2_, x);
    return linear(fc3_, x);
  }

 private:
  Conv2d conv1_{nullptr}, conv2_{nullptr};
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr}, fc3_{nullptr};
};

}  // namespace

NetworkPtr make_lenet(InputShape shape, std::int64_t classes) {
  require_smallest_image("lenet", shape, 12);
  const bool is_small = shape.height < 32 || shape.width < 32;
  return std::make_shared<LeNet>(shape, classes, is_small ? 2 : 0);
}

NetworkPtr make_simple(InputShape shape, std::int64_t classes) {
  require_smallest_image("simple", shape, 16);
  return std::make_shared<LeNet>(shape, classes, 0);
}

}  // namespace tandem::model
