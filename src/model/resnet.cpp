// ResNet-18, -34 and -50 (He et al., "Deep Residual Learning for Image Recognition", 2015) with
// torchvision's names (torchvision/models/resnet.py). With Stem::kImagenet they are torchvision's.
// With Stem::kCifar, for small images, only the first layers differ.
#include <vector>

#include "layers.hpp"
#include "networks.hpp"
#include "recomputed.hpp"

namespace tandem::model {
namespace {

struct Layer {
  std::int64_t outputs, kernel, stride;
};

Conv2d conv(std::int64_t inputs, const Layer& layer) {
  return Conv2d(torch::nn::Conv2dOptions(inputs, layer.outputs, layer.kernel)
                    .stride(layer.stride)
                    .padding(layer.kernel / 2)
                    .bias(false));
}

// x + convolutions of x, each with BatchNorm.
class ResidualBlockImpl : public torch::nn::Module {
 public:
  ResidualBlockImpl(std::int64_t inputs, const std::vector<Layer>& layers) {
    std::int64_t channels = inputs, stride = 1;
    for (const Layer& layer : layers) {
      const std::string number = std::to_string(convs_.size() + 1);
      convs_.push_back(register_module("conv" + number, conv(channels, layer)));
      norms_.push_back(register_module("bn" + number, BatchNorm2d(layer.outputs)));
      channels = layer.outputs;
      stride *= layer.stride;
    }
    if (stride != 1 || channels != inputs) {
      downsample_ = register_module(
          "downsample",
          torch::nn::Sequential(conv(inputs, {channels, 1, stride}), BatchNorm2d(channels)));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor shortcut = downsample_.is_empty() ? x : downsampled(x);
    torch::Tensor out = x;
    const std::size_t last = convs_.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      out = normalized_relu(norms_[i], convs_[i]->forward(out));
    }
    return normalized_relu_of_sum(norms_[last], convs_[last]->forward(out), shortcut);
  }

 private:
  torch::Tensor downsampled(const torch::Tensor& x) {
    BatchNorm2d norm(std::dynamic_pointer_cast<BatchNorm2dImpl>(downsample_->ptr(1)));
    return normalized(norm, downsample_->at<Conv2dImpl>(0).forward(x));
  }

  std::vector<Conv2d> convs_;
  std::vector<BatchNorm2d> norms_;
  torch::nn::Sequential downsample_{nullptr};  // empty where the shapes already agree
};
TORCH_MODULE(ResidualBlock);

struct Form {
  const char* name;
  std::vector<int> blocks;  // of each layer
  bool has_bottlenecks;

  std::int64_t outputs_of(std::int64_t width) const { return has_bottlenecks ? 4 * width : width; }
  std::vector<Layer> layers_of(std::int64_t width, std::int64_t stride) const {
    if (!has_bottlenecks) return {{width, 3, stride}, {width, 3, 1}};
    return {{width, 1, 1}, {width, 3, stride}, {outputs_of(width), 1, 1}};
  }
};

Form form_of(const std::string& name) {
  if (name == "resnet50") return {"resnet50", {3, 4, 6, 3}, true};
  if (name == "resnet34") return {"resnet34", {3, 4, 6, 3}, false};
  return {"resnet18", {2, 2, 2, 2}, false};
}

class ResNet : public Network {
 public:
  ResNet(const Form& form, Stem stem, InputShape shape, std::int64_t classes) : stem_(stem) {
    std::int64_t width = 64;
    const Layer first = stem == Stem::kImagenet ? Layer{width, 7, 2} : Layer{width, 3, 1};
    conv1_ = register_module("conv1", conv(shape.channels, first));
    bn1_ = register_module("bn1", BatchNorm2d(width));
    std::int64_t channels = width;
    for (const int blocks : form.blocks) {
      torch::nn::Sequential layer;
      for (int i = 0; i < blocks; ++i) {
        const bool halves = i == 0 && !layers_.empty();
        layer->push_back(ResidualBlock(channels, form.layers_of(width, halves ? 2 : 1)));
        channels = form.outputs_of(width);
      }
      layers_.push_back(register_module("layer" + std::to_string(layers_.size() + 1), layer));
      width *= 2;
    }
    fc_ = register_module("fc", torch::nn::Linear(channels, classes));
  }

  torch::Tensor forward(torch::Tensor images) override {
    torch::Tensor x = normalized_relu(bn1_, conv1_->forward(images));
    if (stem_ == Stem::kImagenet) x = torch::max_pool2d(x, 3, 2, 1);
    for (torch::nn::Sequential& layer : layers_) x = forward_through(layer, x, recomputes_);
    return fc_->forward(x.mean({2, 3}));
  }
  bool recompute_blocks() override { return recomputes_ = true; }

 private:
  const Stem stem_;
  bool recomputes_ = false;
  Conv2d conv1_{nullptr};
  BatchNorm2d bn1_{nullptr};
  std::vector<torch::nn::Sequential> layers_;
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

NetworkPtr make_resnet(const std::string& name, InputShape shape, std::int64_t classes, Stem stem) {
  const Form form = form_of(name);
  // Smaller ones end as 1x1, which BatchNorm refuses of a single image.
  const std::int64_t pixels = stem == Stem::kImagenet ? 33 : 9;
  const std::string fix = "leave out --stem imagenet, or pack larger images";
  require_smallest_image(form.name, shape, pixels, stem == Stem::kImagenet ? fix : "");
  return std::make_shared<ResNet>(form, stem, shape, classes);
}

}  // namespace tandem::model
