// Per-channel statistics of batch normalization for a bfloat16 batch in channels-last layout, and
// its gradients, shared by the layers that are fused with it. Work is spread over libtorch's
// threads. Throws std::bad_alloc.
//
// Sums are made per image block and then over the blocks, so they do not depend on the number of
// threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/kernels/normalization.hpp"
#include "tandem/model/batch_exchange.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

inline constexpr std::array<std::int64_t, 3> kAllButChannels{0, 2, 3};  // dimensions of images

struct ImageSizes {
  explicit ImageSizes(const torch::Tensor& x);
  std::size_t pixels() const { return height * width; }
  std::size_t pooled_pixels() const { return (height / 2) * (width / 2); }
  const std::size_t images, channels, height, width;
};

// fp32, one element for each channel. Statistics: new = (1 - momentum) * old + momentum * batch's.
struct NormTensors {
  torch::Tensor weight;  // undefined: 1
  torch::Tensor bias, running_mean, running_variance;
  double momentum = 0;
  double epsilon = 0;
  std::shared_ptr<const BatchExchange> exchange =
      {};  // null: the statistics are those of this rank
};

// The part of a batch normalization by which it may be synchronized.
class SynchronizedNorm {
 public:
  virtual ~SynchronizedNorm() = default;
  virtual std::size_t channels() const = 0;
  std::shared_ptr<const BatchExchange> exchange;
};

// As torch::nn::BatchNorm2d with its defaults, but in training it may use the statistics of all
// ranks. Not derived from it: libtorch 1.13 does not export its base class.
class BatchNorm2dImpl : public torch::nn::Module, public SynchronizedNorm {
 public:
  explicit BatchNorm2dImpl(std::int64_t channels);
  torch::Tensor forward(const torch::Tensor& x);
  std::size_t channels() const override { return static_cast<std::size_t>(weight.numel()); }
  NormTensors tensors() const;

  torch::Tensor weight, bias;
  torch::Tensor running_mean, running_var, num_batches_tracked;
};
TORCH_MODULE(BatchNorm2d);

// Batch normalization of float or bfloat16 images in training, by libtorch's operators. norm has an
// exchange.
torch::Tensor synchronized_norm(const NormTensors& norm, const torch::Tensor& x);

// Whether kernels for bfloat16 compute; libtorch computes the rest and reports errors.
bool fits_norm_kernels(const NormTensors& norm, const torch::Tensor& x, bool is_training);

// Per-channel values that forward saves for backward.
struct ChannelFactors : torch::CustomClassHolder {
  std::vector<float> mean, inverse_deviation, scale, shift;
  double count = 0;  // of pixels
  std::shared_ptr<const BatchExchange> exchange;
  kernels::Normalization normalization() const { return {scale.data(), shift.data()}; }
};

// Updates the running statistics. x: more than one pixel in all. Collective if norm has an
// exchange.
c10::intrusive_ptr<ChannelFactors> learn_factors(const NormTensors& norm, const torch::Tensor& x);

// Per channel, of the gradients after normalization: their sum, and the sum of their products with
// x - mean.
struct ChannelTotals {
  std::vector<double> sum, product;
};

// For each block and channel, of the gradients after normalization: their sum, and the sum of their
// products with x - mean.
class GradientSums {
 public:
  explicit GradientSums(const ImageSizes& sizes);
  float* sum(std::size_t block) { return &sums_[block * channels_]; }
  float* product(std::size_t block) { return &products_[block * channels_]; }
  ChannelTotals totals() const { return {whole(sums_), whole(products_)}; }

 private:
  std::vector<double> whole(const std::vector<float>& blocks) const;
  const std::size_t channels_;
  std::vector<float> sums_, products_;
};

struct NormGradients {
  torch::Tensor of_weight, of_bias;
  std::vector<float> slope, offset;
  kernels::Correction correction() const { return {slope.data(), offset.data()}; }
};

// Ioffe and Szegedy, "Batch Normalization", 2015, section 3, in terms of x. of_weight and of_bias
// are those of this rank's images. Collective if the factors have an exchange.
NormGradients norm_gradients(const ChannelFactors& factors, const ChannelTotals& totals);

}  // namespace tandem::model
