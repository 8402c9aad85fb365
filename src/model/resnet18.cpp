// ResNet-18 (He et al. 2015) in its CIFAR variant: a 3x3 stem with stride 1 and no max-pool,
// everything else and all names as in torchvision, so that weights move between the two wherever
// their shapes agree.
#include "layers.hpp"
#include "networks.hpp"

namespace tandem::model {
namespace {

Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

class BasicBlockImpl : public torch::nn::Module {
 public:
  BasicBlockImpl(std::int64_t in, std::int64_t out, std::int64_t stride) {
    conv1_ = register_module("conv1", conv(in, out, 3, stride));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(out));
    conv2_ = register_module("conv2", conv(out, out, 3, 1));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(out));
    if (stride != 1 || in != out) {
      downsample_ = register_module(
          "downsample",
          torch::nn::Sequential(conv(in, out, 1, stride), torch::nn::BatchNorm2d(out)));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor shortcut = downsample_.is_empty() ? x : downsampled(x);
    const torch::Tensor out = normalized_relu(bn1_, conv1_->forward(x));
    return normalized_relu_of_sum(bn2_, conv2_->forward(out), shortcut);
  }

 private:
  torch::Tensor downsampled(const torch::Tensor& x) {
    torch::nn::BatchNorm2d norm(
        std::dynamic_pointer_cast<torch::nn::BatchNorm2dImpl>(downsample_->ptr(1)));
    return normalized(norm, downsample_->at<Conv2dImpl>(0).forward(x));
  }

  Conv2d conv1_{nullptr}, conv2_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr}, bn2_{nullptr};
  torch::nn::Sequential downsample_{nullptr};  // empty where the shapes already agree
};
TORCH_MODULE(BasicBlock);

torch::nn::Sequential two_blocks(std::int64_t in, std::int64_t out, std::int64_t stride) {
  return torch::nn::Sequential(BasicBlock(in, out, stride), BasicBlock(out, out, 1));
}

class ResNet18 : public Network {
 public:
  ResNet18(InputShape shape, std::int64_t classes) {
    conv1_ = register_module("conv1", conv(shape.channels, 64, 3, 1));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(64));
    layer1_ = register_module("layer1", two_blocks(64, 64, 1));
    layer2_ = register_module("layer2", two_blocks(64, 128, 2));
    layer3_ = register_module("layer3", two_blocks(128, 256, 2));
    layer4_ = register_module("layer4", two_blocks(256, 512, 2));
    fc_ = register_module("fc", torch::nn::Linear(512, classes));
  }

  torch::Tensor forward(torch::Tensor images) override {
    torch::Tensor x = normalized_relu(bn1_, conv1_->forward(images));
    x = layer1_->forward(x);
    x = layer2_->forward(x);
    x = layer3_->forward(x);
    x = layer4_->forward(x);
    return fc_->forward(x.mean({2, 3}));
  }

 private:
  Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  torch::nn::Sequential layer1_{nullptr}, layer2_{nullptr}, layer3_{nullptr}, layer4_{nullptr};
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

NetworkPtr make_resnet18(InputShape shape, std::int64_t classes) {
  // Smaller ones end as 1x1, which BatchNorm refuses of a single image.
  require_smallest_image("resnet18", shape, 9);
  return std::make_shared<ResNet18>(shape, classes);
}

}  // namespace tandem::model
