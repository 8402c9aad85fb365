// Own kernels beside libtorch's operators for the same layers, forwards and backwards, one thread.
//
//   bench_kernels [RUNS]
#include <ATen/Parallel.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "model/layers.hpp"
#include "model/tile_convolution.hpp"
#include "model/winograd_convolution.hpp"
#include "tandem/core/median.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/model/tensor_memory.hpp"

namespace tandem::model {
namespace {

using Layer = std::function<torch::Tensor(const torch::Tensor&)>;

struct Work {
  std::string name;
  torch::Tensor in;
  Precision precision;
  Layer ours, libtorchs;
};

double seconds_of(const Work& work, const Layer& layer) {
  const torch::Tensor x = work.in.detach().requires_grad_();
  const auto begin = std::chrono::steady_clock::now();
  torch::Tensor out;
  {
    const AutocastScope autocast(work.precision);
    out = layer(x);
  }
  out.backward(torch::ones_like(out));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// In pairs, so that what slows the machine slows both.
void measure(const Work& work, int runs) {
  std::vector<double> ours, libtorchs, ratios;
  seconds_of(work, work.ours);
  seconds_of(work, work.libtorchs);
  for (int run = 0; run < runs; ++run) {
    ours.push_back(seconds_of(work, work.ours));
    libtorchs.push_back(seconds_of(work, work.libtorchs));
    ratios.push_back(libtorchs.back() / ours.back());
  }
  std::cout << "| " << work.name << " | " << std::fixed << std::setprecision(2)
            << 1e3 * median_of(ours) << " | " << 1e3 * median_of(libtorchs) << " | "
            << median_of(ratios) << " |" << std::endl;
}

torch::Tensor activations(const std::vector<std::int64_t>& shape, torch::Dtype type) {
  return torch::randn(shape).to(type).contiguous(at::MemoryFormat::ChannelsLast);
}

Work convolution(const std::string& name, std::int64_t channels, std::int64_t pixels,
                 std::int64_t filters, Precision precision) {
  Conv2d layer(torch::nn::Conv2dOptions(channels, filters, 5));
  return {name, activations({64, channels, pixels, pixels}, torch::kFloat32), precision,
          [layer](const torch::Tensor& x) mutable { return convolve_and_pool(layer, x); },
          [layer](const torch::Tensor& x) mutable { return relu_max_pool(layer->forward(x)); }};
}

Work norm(const std::string& name, std::int64_t channels, std::int64_t pixels, bool pools) {
  BatchNorm2d layer(channels);
  return {name, activations({128, channels, pixels, pixels}, torch::kBFloat16), Precision::kBf16,
          [layer, pools](const torch::Tensor& x) mutable {
            return pools ? pooled_normalized_relu(layer, x) : normalized_relu(layer, x);
          },
          [layer, pools](const torch::Tensor& x) mutable {
            return pools ? relu_max_pool(layer->forward(x)) : layer->forward(x).relu_();
          }};
}

Work norm_of_sum(std::int64_t channels, std::int64_t pixels) {
  BatchNorm2d layer(channels);
  const std::string size = std::to_string(pixels) + "x" + std::to_string(pixels);
  const std::vector<std::int64_t> shape = {128, channels, pixels, pixels};
  const torch::Tensor residual = activations(shape, torch::kBFloat16).requires_grad_();
  return {"BatchNorm, sum, ReLU of 128 x " + std::to_string(channels) + " x " + size + ", bf16",
          activations(shape, torch::kBFloat16), Precision::kBf16,
          [layer, residual](const torch::Tensor& x) mutable {
            return normalized_relu_of_sum(layer, x, residual);
          },
          [layer, residual](const torch::Tensor& x) mutable {
            return layer->forward(x).add_(residual).relu_();
          }};
}

Work norm_of_gelu() {
  const std::int64_t channels = 64;
  NormTensors norm{{},   torch::zeros(channels), torch::zeros(channels), torch::ones(channels), 0.4,
                   1e-12};
  norm.bias.requires_grad_();
  const Gelu gelu;
  return {"BatchNorm, GELU of 128 x 64 x 31x31, bf16",
          activations({128, channels, 31, 31}, torch::kBFloat16), Precision::kBf16,
          [=](const torch::Tensor& x) { return normalized_gelu(norm, gelu, x, true); },
          [=](const torch::Tensor& x) {
            return torch::gelu(torch::batch_norm(x, {}, norm.bias, norm.running_mean,
                                                 norm.running_variance, true, norm.momentum,
                                                 norm.epsilon, false));
          }};
}

Work tiled(std::int64_t channels, std::int64_t pixels, std::int64_t filters) {
  Conv2d layer(torch::nn::Conv2dOptions(channels, filters, 3).padding(1).bias(false));
  layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
  const std::string size = std::to_string(pixels) + "x" + std::to_string(pixels);
  return {"3x3, " + std::to_string(channels) + " to " + std::to_string(filters) + ", of 128 x " +
              size + ", bf16",
          activations({128, channels, pixels, pixels}, torch::kBFloat16), Precision::kBf16,
          [layer](const torch::Tensor& x) mutable { return convolve_with_tiles(*layer, x); },
          [layer](const torch::Tensor& x) mutable -> torch::Tensor {
            return layer->torch::nn::Conv2dImpl::forward(x);
          }};
}

// With the form that layers use on this processor.
Work by_winograd(std::int64_t channels, std::int64_t pixels, std::int64_t filters,
                 Precision precision) {
  Conv2d layer(torch::nn::Conv2dOptions(channels, filters, 3).padding(1).bias(false));
  layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
  const bool is_bf16 = precision == Precision::kBf16;
  const std::string size = std::to_string(pixels) + "x" + std::to_string(pixels);
  const kernels::WinogradForm* form = kernels::best_winograd_form(
      is_bf16 ? kernels::ImageNumbers::kBfloat16 : kernels::ImageNumbers::kFp32);
  return {
      "3x3, " + std::to_string(channels) + " to " + std::to_string(filters) + ", of 128 x " + size +
          (is_bf16 ? ", bf16, by " : ", fp32, by ") + std::string(name_of(*form)),
      activations({128, channels, pixels, pixels}, is_bf16 ? torch::kBFloat16 : torch::kFloat32),
      precision,
      [layer, form](const torch::Tensor& x) { return convolve_by_winograd(*layer, x, *form); },
      [layer](const torch::Tensor& x) mutable { return layer->forward(x); }};
}

// Those of resnet9, of resnet18 without the first layer, and of fastnet.
void measure_winograd(int runs) {
  if (kernels::best_winograd_form(kernels::ImageNumbers::kFp32) == nullptr) return;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    if (precision == Precision::kBf16 && kernels::has_amx())
      continue;  // AMX tiles are used instead
    for (const auto& [channels, pixels, filters] : {std::array<std::int64_t, 3>{64, 32, 128},
                                                    {128, 16, 128},
                                                    {128, 16, 256},
                                                    {256, 8, 512},
                                                    {512, 4, 512},
                                                    {64, 32, 64},
                                                    {256, 8, 256},
                                                    {24, 32, 64},
                                                    {64, 15, 64},
                                                    {256, 7, 256}}) {
      measure(by_winograd(channels, pixels, filters, precision), runs);
    }
  }
}

Work tiled_linear() {
  torch::nn::Linear layer(400, 120);
  return {"linear, ReLU, 400 to 120, of 64, bf16", torch::randn({64, 400}).to(torch::kBFloat16),
          Precision::kBf16,
          [layer](const torch::Tensor& x) mutable { return linear_relu(layer, x); },
          [layer](const torch::Tensor& x) mutable { return layer->forward(x).relu_(); }};
}

}  // namespace
}  // namespace tandem::model

int main(int count, char** words) {
  using namespace tandem::model;
  const int runs = count > 1 ? std::max(1, std::atoi(words[1])) : 15;
  // As in training: neither side pays for pages.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const TensorMemory memory;
  at::set_num_threads(1);
  torch::manual_seed(1);
  const Gelu gelu;
  std::cout << "| layer | ms | libtorch, ms | times as fast |\n|---|---|---|---|\n";
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const std::string type = precision == Precision::kFp32 ? ", fp32" : ", bf16";
    measure(convolution("5x5, 3 to 6, pooled, of 64 x 32x32" + type, 3, 32, 6, precision), runs);
    measure(convolution("5x5, 6 to 16, pooled, of 64 x 14x14" + type, 6, 14, 16, precision), runs);
  }
  measure(norm("BatchNorm, ReLU of 128 x 64 x 32x32, bf16", 64, 32, false), runs);
  measure(norm("BatchNorm, ReLU, pooled, of 128 x 128 x 32x32, bf16", 128, 32, true), runs);
  measure(norm_of_sum(64, 32), runs);
  measure({"GELU of 128 x 64 x 31x31, bf16", activations({128, 64, 31, 31}, torch::kBFloat16),
           Precision::kBf16, gelu, [](const torch::Tensor& x) { return torch::gelu(x); }},
          runs);
  measure(norm_of_gelu(), runs);
  measure(
      {"max-pool of 128 x 64 x 30x30, bf16", activations({128, 64, 30, 30}, torch::kBFloat16),
       Precision::kBf16, max_pool, [](const torch::Tensor& x) { return torch::max_pool2d(x, 2); }},
      runs);
  measure_winograd(runs);
  if (!tandem::kernels::has_amx()) return 0;  // whose tiles the rest takes
  measure(tiled(64, 32, 128), runs);
  measure(tiled(128, 16, 128), runs);
  measure(tiled(128, 16, 256), runs);
  measure(tiled(256, 8, 512), runs);
  measure(tiled(512, 4, 512), runs);
  measure(tiled_linear(), runs);
}
