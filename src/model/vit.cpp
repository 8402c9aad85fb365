// Vision transformers (Dosovitskiy et al., "An Image is Worth 16x16 Words", 2020) as timm has them,
// vit_tiny_patch16_224 and vit_small_patch16_224, with its names and initial weights
// (timm/models/vision_transformer.py). Images below 96 pixels are cut into patches of 4x4.
#include <torch/nn/init.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>

#include "layers.hpp"
#include "networks.hpp"
#include "recomputed.hpp"
#include "tandem/core/error.hpp"
#include "tandem/kernels/convolution.hpp"
#include "tandem/model/autocast.hpp"

namespace tandem::model {
namespace {

constexpr std::int64_t kBlocks = 12;
constexpr std::int64_t kHeadWidth = 64;
constexpr std::int64_t kSmallPatch = 4;
constexpr std::int64_t kPatch = 16;
constexpr std::int64_t kSmallestForPatch = 96;  // pixels
constexpr std::int64_t kMaxPatches = 16384;     // attention grows with their square
constexpr double kNormEpsilon = 1e-6;
constexpr double kDeviation = 0.02;  // of initial weights

// timm's linear layers start this way.
torch::nn::Linear linear_of(std::int64_t inputs, std::int64_t outputs) {
  const torch::NoGradGuard no_grad;
  torch::nn::Linear layer(inputs, outputs);
  torch::nn::init::normal_(layer->weight, 0, kDeviation);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

torch::nn::LayerNorm norm_of(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(kNormEpsilon));
}

class PatchesImpl : public torch::nn::Module {
 public:
  PatchesImpl(std::int64_t channels, std::int64_t width, std::int64_t patch) {
    proj_ = register_module("proj",
                            Conv2d(torch::nn::Conv2dOptions(channels, width, patch).stride(patch)));
  }

  // Images to [N, patches, width].
  torch::Tensor forward(const torch::Tensor& images) {
    return proj_->forward(images).flatten(2).transpose(1, 2);
  }

 private:
  Conv2d proj_{nullptr};
};
TORCH_MODULE(Patches);

class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(std::int64_t width) : heads_(width / kHeadWidth) {
    qkv_ = register_module("qkv", linear_of(width, 3 * width));
    proj_ = register_module("proj", linear_of(width, width));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const std::int64_t images = x.size(0), tokens = x.size(1);
    const torch::Tensor qkv =
        qkv_->forward(x).view({images, tokens, 3, heads_, kHeadWidth}).permute({2, 0, 3, 1, 4});
    // Scaled dot product attention: libtorch 1.13 and 2.11 name its fused operator differently.
    const torch::Tensor queries = qkv[0] * (1 / std::sqrt(static_cast<double>(kHeadWidth)));
    const torch::Tensor shares = torch::matmul(queries, qkv[1].transpose(-2, -1)).softmax(-1);
    const torch::Tensor values = torch::matmul(shares, qkv[2]);
    return proj_->forward(values.transpose(1, 2).reshape({images, tokens, heads_ * kHeadWidth}));
  }

 private:
  const std::int64_t heads_;
  torch::nn::Linear qkv_{nullptr}, proj_{nullptr};
};
TORCH_MODULE(Attention);

class PerceptronImpl : public torch::nn::Module {
 public:
  explicit PerceptronImpl(std::int64_t width) {
    fc1_ = register_module("fc1", linear_of(width, 4 * width));
    fc2_ = register_module("fc2", linear_of(4 * width, width));
  }

  torch::Tensor forward(const torch::Tensor& x) { return fc2_->forward(gelu_(fc1_->forward(x))); }

 private:
  const Gelu gelu_;
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr};
};
TORCH_MODULE(Perceptron);

class BlockImpl : public torch::nn::Module {
 public:
  explicit BlockImpl(std::int64_t width) {
    norm1_ = register_module("norm1", norm_of(width));
    attention_ = register_module("attn", Attention(width));
    norm2_ = register_module("norm2", norm_of(width));
    mlp_ = register_module("mlp", Perceptron(width));
  }

  torch::Tensor forward(torch::Tensor x) {
    x = x + attention_->forward(norm1_->forward(x));
    return x + mlp_->forward(norm2_->forward(x));
  }

 private:
  torch::nn::LayerNorm norm1_{nullptr}, norm2_{nullptr};
  Attention attention_{nullptr};
  Perceptron mlp_{nullptr};
};
TORCH_MODULE(Block);

class VisionTransformer : public Network {
 public:
  VisionTransformer(std::int64_t width, std::int64_t patch, InputShape shape,
                    std::int64_t classes) {
    const std::int64_t patches = (shape.height / patch) * (shape.width / patch);
    cls_token_ = register_parameter("cls_token", torch::empty({1, 1, width}));
    pos_embed_ = register_parameter("pos_embed", torch::empty({1, patches + 1, width}));
    torch::nn::init::normal_(cls_token_, 0, 1e-6);
    torch::nn::init::normal_(pos_embed_, 0, kDeviation);
    patch_embed_ = register_module("patch_embed", Patches(shape.channels, width, patch));
    torch::nn::Sequential blocks;
    for (std::int64_t i = 0; i < kBlocks; ++i) blocks->push_back(Block(width));
    blocks_ = register_module("blocks", blocks);
    norm_ = register_module("norm", norm_of(width));
    head_ = register_module("head", linear_of(width, classes));
  }

  torch::Tensor forward(torch::Tensor images) override {
    const bool is_slow =
        images.is_cpu() && autocast_on(torch::kCPU).enabled && !kernels::has_fast_bf16();
    if (!is_slow) return logits_of(images);
    // Without instructions for bfloat16 libtorch would emulate each product, which takes many times
    // as long as fp32. With Intel's it takes 1.3 times as long.
    const AutocastScope in_fp32(Precision::kFp32);
    return logits_of(images).to(torch::kBFloat16);
  }
  bool recompute_blocks() override { return recomputes_ = true; }

 private:
  torch::Tensor logits_of(const torch::Tensor& images) {
    const torch::Tensor patches = patch_embed_->forward(images);
    const torch::Tensor first = cls_token_.expand({images.size(0), -1, -1});
    torch::Tensor x = torch::cat({first, patches}, 1) + pos_embed_;
    x = forward_through(blocks_, x, recomputes_);
    return head_->forward(norm_->forward(x.select(1, 0)));
  }

  bool recomputes_ = false;
  torch::Tensor cls_token_, pos_embed_;
  Patches patch_embed_{nullptr};
  torch::nn::Sequential blocks_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear head_{nullptr};
};

NetworkPtr make_vit(const char* name, std::int64_t width, InputShape shape, std::int64_t classes) {
  const bool is_large = shape.height >= kSmallestForPatch && shape.width >= kSmallestForPatch;
  const std::int64_t patch = is_large ? kPatch : kSmallPatch;
  require_smallest_image(name, shape, patch);
  const std::string size = std::to_string(shape.height) + "x" + std::to_string(shape.width);
  if (shape.height % patch != 0 || shape.width % patch != 0) {
    throw UsageError("model " + std::string(name) + ": images of " + size +
                     " pixels cannot be cut into patches of " + std::to_string(patch) + "x" +
                     std::to_string(patch) + ", expected multiples of " + std::to_string(patch) +
                     "; pack them with another --size, or choose another model");
  }
  if ((shape.height / patch) * (shape.width / patch) > kMaxPatches) {
    throw UsageError("model " + std::string(name) + ": images of " + size +
                     " pixels have too many patches of " + std::to_string(patch) + "x" +
                     std::to_string(patch) + ", at most " + std::to_string(kMaxPatches) +
                     " were expected; pack them with a smaller --size");
  }
  return std::make_shared<VisionTransformer>(width, patch, shape, classes);
}

}  // namespace

NetworkPtr make_vit_tiny(InputShape shape, std::int64_t classes) {
  return make_vit("vit-tiny", 192, shape, classes);
}

NetworkPtr make_vit_small(InputShape shape, std::int64_t classes) {
  return make_vit("vit-small", 384, shape, classes);
}

}  // namespace tandem::model
