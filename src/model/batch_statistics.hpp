// Per-channel statistics of batch normalization for a bfloat16 batch in channels-last layout, and
// its gradients, shared by the layers that are fused with it. Work is spread over libtorch's
// threads. Throws std::bad_alloc.
//
// Sums are made per image block and then over the blocks, so they do not depend on the number of
// threads.
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/kernels/normalization.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

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
};

// Of a layer of libtorch that has scale, momentum and running statistics.
NormTensors tensors_of(const torch::nn::BatchNorm2d& norm);
// Whether kernels for bfloat16 compute; libtorch computes the rest and reports errors.
bool fits_norm_kernels(const NormTensors& norm, const torch::Tensor& x, bool is_training);

// Per-channel values that forward saves for backward.
struct ChannelFactors : torch::CustomClassHolder {
  std::vector<float> mean, inverse_deviation, scale, shift;
  kernels::Normalization normalization() const { return {scale.data(), shift.data()}; }
};

// Moves the running statistics. x: more than one pixel in all.
c10::intrusive_ptr<ChannelFactors> learn_factors(const NormTensors& norm, const torch::Tensor& x);

// For each block and channel, of the gradients after normalization: their sum, and the sum of their
// products with x - mean.
class GradientSums {
 public:
  explicit GradientSums(const ImageSizes& sizes);
  float* sum(std::size_t block) { return &sums_[block * channels_]; }
  float* product(std::size_t block) { return &products_[block * channels_]; }
  double whole_sum(std::size_t channel) const { return whole(sums_, channel); }
  double whole_product(std::size_t channel) const { return whole(products_, channel); }

 private:
  double whole(const std::vector<float>& blocks, std::size_t channel) const;
  const std::size_t channels_;
  std::vector<float> sums_, products_;
};

struct NormGradients {
  torch::Tensor of_weight, of_bias;
  std::vector<float> slope, offset;
  kernels::Correction correction() const { return {slope.data(), offset.data()}; }
};

// Ioffe and Szegedy, "Batch Normalization", 2015, section 3, in terms of x.
NormGradients norm_gradients(const ChannelFactors& factors, const GradientSums& sums,
                             const ImageSizes& sizes);

}  // namespace tandem::model
