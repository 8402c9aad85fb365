// fastnet: the network of Keller Jordan's CIFAR-10 speed runs (arXiv 2404.00498; KellerJordan/
// cifar10-airbench, airbench94_muon.py), 94 % in 8 epochs.
//   whitening 2x2, GELU · three groups of convolution, halved, BatchNorm, GELU, convolution,
//   BatchNorm, GELU with 64, 256 and 256 filters · global max · linear / 256
#include <algorithm>
#include <array>
#include <string>

#include "layers.hpp"
#include "networks.hpp"
#include "tandem/model/fused_use.hpp"

namespace tandem::model {
namespace {

constexpr std::int64_t kWhiteningSize = 2;
constexpr std::int64_t kWhiteningImages = 5000;
constexpr std::int64_t kWhiteningImagesAtOnce = 250;  // 23 MB of patches
constexpr double kWhiteningEpsilon = 5e-4;
constexpr std::int64_t kWidths[] = {64, 256, 256};

// Without a scale: it would only compete with the filters', which the optimizer keeps normal.
class ShiftNormImpl : public torch::nn::Module, public SynchronizedNorm {
 public:
  explicit ShiftNormImpl(std::int64_t channels) {
    bias_ = register_parameter("bias", torch::zeros({channels}));
    mean_ = register_buffer("running_mean", torch::zeros({channels}));
    variance_ = register_buffer("running_var", torch::ones({channels}));
  }

  // And GELU of it.
  torch::Tensor forward(const torch::Tensor& x, const Gelu& gelu) {
    return normalized_gelu(tensors(x.device()), gelu, x, is_training());
  }
  // Of x after 2x2 max-pooling.
  torch::Tensor pooled(const torch::Tensor& x, const Gelu& gelu) {
    return pooled_normalized_gelu(tensors(x.device()), gelu, x, is_training());
  }

  std::size_t channels() const override { return static_cast<std::size_t>(bias_.numel()); }

 private:
  NormTensors tensors(torch::Device device) {
    constexpr double kMomentum = 0.4;
    constexpr double kEpsilon = 1e-12;
    return {
        scale_.on(device, bias_.numel()), bias_, mean_, variance_, kMomentum, kEpsilon, exchange};
  }

  torch::Tensor bias_, mean_, variance_;
  UnitScale scale_;
};
TORCH_MODULE(ShiftNorm);

// 3x3, which passes its input on before it is trained.
Conv2d make_convolution(std::int64_t in, std::int64_t out, std::int64_t padding) {
  Conv2d convolution(torch::nn::Conv2dOptions(in, out, 3).padding(padding).bias(false));
  const torch::NoGradGuard no_grad;
  torch::nn::init::dirac_(convolution->weight.narrow(0, 0, std::min(in, out)));
  return convolution;
}

// Pads by one pixel, so that a convolution keeps the size, except at the right and at the bottom of
// odd sizes: pooling would drop the last column and row, for 7x7 a quarter of the work.
torch::Tensor padded_for_pooling(const torch::Tensor& x) {
  const auto behind = [&x](std::int64_t dimension) { return 1 - x.size(dimension) % 2; };
  return torch::constant_pad_nd(x, {1, behind(3), 1, behind(2)});
}

class GroupImpl : public torch::nn::Module {
 public:
  GroupImpl(std::int64_t in, std::int64_t out, const Gelu& gelu) : gelu_(gelu) {
    conv1_ = register_module("conv1", make_convolution(in, out, 0));
    norm1_ = register_module("norm1", ShiftNorm(out));
    conv2_ = register_module("conv2", make_convolution(out, out, 1));
    norm2_ = register_module("norm2", ShiftNorm(out));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor whole = convolved_for_pooling(x);
    const torch::Tensor half = norm1_->pooled(whole, gelu_);
    return norm2_->forward(conv2_->forward(half), gelu_);
  }

 private:
  // On a GPU the last column and row cost less than a padded copy.
  torch::Tensor convolved_for_pooling(const torch::Tensor& x) {
    if (!fused::is_used_on(x.device().type())) return conv1_->forward(padded_for_pooling(x));
    return torch::conv2d(x, conv1_->weight, {}, /*stride=*/1, /*padding=*/1);
  }

  Conv2d conv1_{nullptr}, conv2_{nullptr};
  ShiftNorm norm1_{nullptr}, norm2_{nullptr};
  const Gelu gelu_;
};
TORCH_MODULE(Group);

// A convolution whose filters follow from the data and stay; its bias is trained.
class WhiteningImpl : public torch::nn::Module {
 public:
  explicit WhiteningImpl(std::int64_t channels) {
    const std::int64_t patch = channels * kWhiteningSize * kWhiteningSize;
    weight_ = register_buffer("weight",
                              torch::randn({2 * patch, channels, kWhiteningSize, kWhiteningSize}));
    bias_ = register_parameter("bias", torch::zeros({2 * patch}));
  }

  std::int64_t filters() const { return weight_.size(0); }

  // And GELU of it.
  torch::Tensor forward(const torch::Tensor& x, const Gelu& gelu) {
    if (!fused::is_used_on(x.device().type())) return gelu(torch::conv2d(x, weight_, bias_));
    return biased_gelu(gelu, torch::conv2d(x, weight_), bias_);
  }

  // The eigenvectors of the covariance of all patches, each divided by the root of its eigenvalue,
  // and their negatives.
  void init_from_data(const torch::Tensor& images) {
    const std::int64_t patch = filters() / 2;
    torch::Tensor products = torch::zeros({patch, patch}, torch::kFloat64);
    std::int64_t count = 0;
    for (const torch::Tensor& some : images.split(kWhiteningImagesAtOnce)) {
      const torch::Tensor patches = some.to(torch::kFloat64)
                                        .unfold(2, kWhiteningSize, 1)
                                        .unfold(3, kWhiteningSize, 1)
                                        .permute({0, 2, 3, 1, 4, 5})
                                        .reshape({-1, patch});
      products.addmm_(patches.t(), patches);
      count += patches.size(0);
    }
    const auto [values, vectors] = at::linalg_eigh(products / static_cast<double>(count));
    const torch::Tensor whitening =
        (vectors.t() / (values + kWhiteningEpsilon).sqrt().unsqueeze(1)).to(torch::kFloat32);
    const torch::NoGradGuard no_grad;
    weight_.copy_(torch::cat({whitening, -whitening}).view(weight_.sizes()));
  }

 private:
  torch::Tensor weight_, bias_;
};
TORCH_MODULE(Whitening);

class FastNet : public Network {
 public:
  FastNet(InputShape shape, std::int64_t classes) {
    whiten_ = register_module("whiten", Whitening(shape.channels));
    std::int64_t channels = whiten_->filters();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      groups_[i] =
          register_module("group" + std::to_string(i + 1), Group(channels, kWidths[i], gelu_));
      channels = kWidths[i];
    }
    head_ = register_module(
        "head", torch::nn::Linear(torch::nn::LinearOptions(channels, classes).bias(false)));
    const torch::NoGradGuard no_grad;
    head_->weight /= head_->weight.std();
  }

  torch::Tensor forward(torch::Tensor images) override {
    torch::Tensor x = whiten_->forward(images, gelu_);
    for (Group& group : groups_) x = group->forward(x);
    x = torch::max_pool2d(x, {x.size(2), x.size(3)}).flatten(1);
    return head_->forward(x) / static_cast<double>(x.size(1));
  }

  std::vector<std::string> early_parameters() const override { return {"whiten.bias"}; }
  std::int64_t images_to_learn_from() const override { return kWhiteningImages; }
  void init_from_data(const torch::Tensor& images) override { whiten_->init_from_data(images); }

 private:
  Whitening whiten_{nullptr};
  std::array<Group, 3> groups_{nullptr, nullptr, nullptr};
  torch::nn::Linear head_{nullptr};
  const Gelu gelu_;
};

}  // namespace

NetworkPtr make_fastnet(InputShape shape, std::int64_t classes) {
  // Smaller ones end as 1x1, whose variance over a single image is none.
  require_smallest_image("fastnet", shape, 17);
  return std::make_shared<FastNet>(shape, classes);
}

}  // namespace tandem::model
