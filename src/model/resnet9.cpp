// ResNet-9: David Page's DAWNBench network ("How to Train Your ResNet", 2018), 94 % on CIFAR-10 in
// few epochs.
//   prep 64 · layer1 128, halved, + res1 · layer2 256, halved · layer3 512, halved, + res3 · global
//   max · linear x 0.125
#include "layers.hpp"
#include "networks.hpp"

namespace tandem::model {
namespace {

constexpr double kLogitScale = 0.125;

// 3x3 convolution, BatchNorm and ReLU.
class ConvBnImpl : public torch::nn::Module {
 public:
  ConvBnImpl(std::int64_t in, std::int64_t out) {
    conv_ = register_module("conv",
                            Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false)));
    bn_ = register_module("bn", BatchNorm2d(out));
  }

  torch::Tensor forward(const torch::Tensor& x) { return normalized_relu(bn_, conv_->forward(x)); }
  // And 2x2 max-pooling.
  torch::Tensor pooled(const torch::Tensor& x) {
    return pooled_normalized_relu(bn_, conv_->forward(x));
  }

 private:
  Conv2d conv_{nullptr};
  BatchNorm2d bn_{nullptr};
};
TORCH_MODULE(ConvBn);

// x + two convolutions of x.
class ResidualImpl : public torch::nn::Module {
 public:
  explicit ResidualImpl(std::int64_t channels) {
    first_ = register_module("0", ConvBn(channels, channels));
    second_ = register_module("1", ConvBn(channels, channels));
  }

  torch::Tensor forward(const torch::Tensor& x) { return x + second_->forward(first_->forward(x)); }

 private:
  ConvBn first_{nullptr}, second_{nullptr};
};
TORCH_MODULE(Residual);

class ResNet9 : public Network {
 public:
  ResNet9(InputShape shape, std::int64_t classes) {
    prep_ = register_module("prep", ConvBn(shape.channels, 64));
    layer1_ = register_module("layer1", ConvBn(64, 128));
    res1_ = register_module("res1", Residual(128));
    layer2_ = register_module("layer2", ConvBn(128, 256));
    layer3_ = register_module("layer3", ConvBn(256, 512));
    res3_ = register_module("res3", Residual(512));
    linear_ = register_module(
        "linear", torch::nn::Linear(torch::nn::LinearOptions(512, classes).bias(false)));
  }

  torch::Tensor forward(torch::Tensor images) override {
    torch::Tensor x = prep_->forward(images);
    x = res1_->forward(layer1_->pooled(x));
    x = layer2_->pooled(x);
    x = res3_->forward(layer3_->pooled(x));
    x = torch::max_pool2d(x, {x.size(2), x.size(3)}).flatten(1);
    return linear_->forward(x) * kLogitScale;
  }

 private:
  ConvBn prep_{nullptr}, layer1_{nullptr}, layer2_{nullptr}, layer3_{nullptr};
  Residual res1_{nullptr}, res3_{nullptr};
  torch::nn::Linear linear_{nullptr};
};

}  // namespace

NetworkPtr make_resnet9(InputShape shape, std::int64_t classes) {
  // Smaller ones end as 1x1, which BatchNorm refuses of a single image.
  require_smallest_image("resnet9", shape, 16);
  return std::make_shared<ResNet9>(shape, classes);
}

}  // namespace tandem::model
