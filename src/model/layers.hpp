// The layers of networks. On CPUs tandem's kernels compute where they are faster than libtorch, on
// libtorch's threads. Call them on one thread at a time. Throws c10::Error if a tensor has the
// wrong shape, std::bad_alloc.
#pragma once

#include "batch_statistics.hpp"
#include "tandem/kernels/convolution.hpp"
#include "tandem/kernels/gelu.hpp"
#include "tandem/model/convolution_choice.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// torch::nn::Conv2d with a bfloat16 path that is fast on every processor. On a processor without
// bfloat16 instructions libtorch emulates each product, and Intel's AVX512-BF16 is slower than
// fp32, too. There this layer rounds inputs and outputs to bfloat16, forward and backward, and
// computes by the fp32 kernel. A product of two bfloat16 values is exact in fp32, and sums are fp32
// either way. So results differ by the order of summation only.
//
// With ConvolutionChoice::kAuto, training on CPUs may use Winograd's algorithm, which rounds
// differently (winograd_convolution.hpp).
class Conv2dImpl : public torch::nn::Conv2dImpl {
 public:
  using torch::nn::Conv2dImpl::Conv2dImpl;
  // Float, or bfloat16 inside an AutocastScope for it.
  torch::Tensor forward(const torch::Tensor& x);
  // forward() under autocast, where bfloat16 is slower.
  torch::Tensor forward_rounded(const torch::Tensor& x);

  ConvolutionChoice choice = ConvolutionChoice::kDirect;
};
TORCH_MODULE(Conv2d);

// relu(max_pool2d(convolution(x), 2)) of a 5x5 convolution, by one kernel if a network of few
// channels is trained on CPUs. x: images x channels x height x width, in any memory format.
//
// The kernel's inputs and outputs are fp32; under bfloat16 autocast they are rounded to bfloat16,
// except the gradients of the images. On processors with bfloat16 instructions it computes only
// layers of very few channels. It adds in another order than libtorch. Without gradients libtorch
// computes, so evaluation equals Python's, bit for bit.
torch::Tensor convolve_and_pool(Conv2d& convolution, const torch::Tensor& x);

// torch::nn::Linear, also with ReLU. Training bfloat16 networks with AMX takes two operations,
// forward and backward, instead of libtorch's fifteen. Those cost more than the arithmetic of small
// layers. Gradients of weights and bias are then fp32 sums; libtorch rounds them to bfloat16.
torch::Tensor linear(torch::nn::Linear& layer, const torch::Tensor& x,
                     bool with_amx = kernels::has_amx());
torch::Tensor linear_relu(torch::nn::Linear& layer, const torch::Tensor& x,
                          bool with_amx = kernels::has_amx());
// The computation with tiles; without AMX by plain loops, for tests.
torch::Tensor linear_with_tiles(torch::nn::Linear& layer, const torch::Tensor& x, bool has_relu,
                                bool with_amx);

// 2x2 max pooling. tandem's kernels compute if bfloat16 images in channels-last layout are trained
// on CPUs. Backward keeps one byte per result, instead of the input and eight bytes. Values and
// gradients equal libtorch's, bit for bit.
torch::Tensor max_pool(const torch::Tensor& x);

// 2x2 max-pooling of relu(x), with a quarter of the work: both only compare, so pooling first gives
// the same values and the same gradients, bit for bit.
inline torch::Tensor relu_max_pool(const torch::Tensor& x) {
  return torch::max_pool2d(x, 2).relu_();
}

// BatchNorm2d with ReLU: relu(norm(x)), which changes the running statistics as norm does.
//
// tandem's kernels compute if bfloat16 images in channels-last layout are trained on CPUs. Backward
// keeps the input and one byte per pooled result; libtorch keeps eight, and the values that pooling
// drops. No gradient is written for dropped values. Statistics are sums of the same values as
// libtorch's in another order. The result is rounded to bfloat16 once.
torch::Tensor normalized_relu(BatchNorm2d& norm, const torch::Tensor& x);
// relu(max_pool2d(norm(x), 2)).
torch::Tensor pooled_normalized_relu(BatchNorm2d& norm, const torch::Tensor& x);
// norm(x), by kernels as above.
torch::Tensor normalized(BatchNorm2d& norm, const torch::Tensor& x);
// relu(norm(x) + residual), by kernels as above if both have the same sizes, layout and type.
// Rounded once; libtorch rounds norm(x) and the sum. Backward keeps x and the result.
torch::Tensor normalized_relu_of_sum(BatchNorm2d& norm, const torch::Tensor& x,
                                     const torch::Tensor& residual);

// torch::gelu, but faster on CPUs: for bfloat16 by tables that autograd keeps alive, and for fp32
// that is trained by one pass for the function and its derivative.
class Gelu {
 public:
  Gelu();
  // Any shape; dense tensors keep their memory format.
  torch::Tensor operator()(const torch::Tensor& x) const;

  struct Tables : public torch::CustomClassHolder {
    const kernels::GeluTables tables;
  };
  const c10::intrusive_ptr<Tables>& tables() const { return tables_; }

 private:
  c10::intrusive_ptr<Tables> tables_;
};

// gelu(x + bias) of images on a device that the operators for GPUs are used on. libtorch computes
// where x needs a gradient or does not fit the kernels.
torch::Tensor biased_gelu(const Gelu& gelu, const torch::Tensor& x, const torch::Tensor& bias);

// The weight of a batch normalization without scale. CPUs take none. libtorch's CUDA kernels make
// no gradient of the bias without one (torch 2.11, ATen/native/cuda/Normalization.cuh:654 and
// 1574), and autograd then refuses what they return. So other devices get ones, which need no
// gradient and are made once. They belong to no module, so state dicts do not have them.
class UnitScale {
 public:
  // Undefined for CPUs.
  const torch::Tensor& on(torch::Device device, std::int64_t channels);

 private:
  torch::Tensor ones_;
};

// Batch normalization without scale, followed by GELU. If `is_training`, uses the statistics of the
// batch and updates the running ones; otherwise uses the running ones. norm.weight: UnitScale's.
//
// tandem's kernels compute if bfloat16 images in channels-last layout are trained on CPUs. Backward
// keeps only the input. Statistics are of the same values as libtorch's, summed in another order;
// the normalized value is rounded to bfloat16 before GELU, and its gradient after it.
torch::Tensor normalized_gelu(const NormTensors& norm, const Gelu& gelu, const torch::Tensor& x,
                              bool is_training);
// normalized_gelu of max_pool(x).
torch::Tensor pooled_normalized_gelu(const NormTensors& norm, const Gelu& gelu,
                                     const torch::Tensor& x, bool is_training);

}  // namespace tandem::model
