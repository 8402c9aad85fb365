// A multilayer perceptron: hidden layers with ReLU, by default two of 512 units.
#include "networks.hpp"

namespace tandem::model {
namespace {

class Mlp : public Network {
 public:
  Mlp(InputShape shape, std::int64_t classes, HiddenWidths widths) {
    std::int64_t inputs = shape.channels * shape.height * shape.width;
    widths.push_back(classes);
    for (const std::int64_t outputs : widths) {
      const std::string name = "fc" + std::to_string(layers_.size() + 1);
      layers_.push_back(register_module(name, torch::nn::Linear(inputs, outputs)));
      inputs = outputs;
    }
  }

  torch::Tensor forward(torch::Tensor images) override {
    // Logical order (C, H, W) whatever the memory format, so that the weights mean the same in
    // Python.
    torch::Tensor x = images.flatten(1);
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) x = layers_[i]->forward(x).relu_();
    return layers_.back()->forward(x);
  }

 private:
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace

NetworkPtr make_mlp(InputShape shape, std::int64_t classes, const HiddenWidths& widths) {
  return std::make_shared<Mlp>(shape, classes, widths_or_default(widths));
}

}  // namespace tandem::model
