// A layer that is computed forwards and backwards, beside libtorch in fp64.
#pragma once

#include <gtest/gtest.h>

#include "model/layers.hpp"

namespace tandem::model {

using torch::nn::Conv2dOptions;

struct ConvolutionLayer {
  std::int64_t images, channels, side, filters, size, stride, padding;
  bool has_bias = false;
};

inline void with_channels_last(Conv2d& convolution) {
  convolution->weight.set_data(convolution->weight.contiguous(at::MemoryFormat::ChannelsLast));
}

inline Conv2d make_convolution(const ConvolutionLayer& layer) {
  torch::manual_seed(3);
  Conv2d convolution(Conv2dOptions(layer.channels, layer.filters, layer.size)
                         .stride(layer.stride)
                         .padding(layer.padding)
                         .bias(layer.has_bias));
  with_channels_last(convolution);
  return convolution;
}

inline torch::Tensor images_of(const ConvolutionLayer& layer) {
  torch::manual_seed(2);
  return torch::randn({layer.images, layer.channels, layer.side, layer.side})
      .to(torch::kBFloat16)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

struct LayerResults {
  torch::Tensor out, of_x, of_filters, of_bias;
};

template <class Convolve>
LayerResults run_layer(const ConvolutionLayer& layer, torch::Dtype type, const Convolve& convolve) {
  Conv2d convolution = make_convolution(layer);
  const torch::NoGradGuard no_grad;
  // What bfloat16 holds, so that only results are rounded.
  convolution->weight.copy_(convolution->weight.to(torch::kBFloat16));
  if (convolution->bias.defined()) {
    convolution->bias.copy_(convolution->bias.to(torch::kBFloat16));
  }
  convolution->to(type == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32);
  const torch::AutoGradMode grad(true);
  const torch::Tensor x = images_of(layer).to(type).requires_grad_();
  const torch::Tensor out = convolve(convolution, x);
  torch::manual_seed(4);
  out.backward(torch::randn(out.sizes()).to(torch::kBFloat16).to(out.scalar_type()));
  const auto wide = [](const torch::Tensor& t) { return t.detach().to(torch::kFloat64); };
  EXPECT_EQ(convolution->weight.grad().scalar_type(), convolution->weight.scalar_type());
  torch::Tensor of_bias = torch::ones({1}, torch::kFloat64);
  if (convolution->bias.defined()) of_bias = wide(convolution->bias.grad());
  return {wide(out), wide(x.grad()), wide(convolution->weight.grad()), of_bias};
}

inline double relative_difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

}  // namespace tandem::model
