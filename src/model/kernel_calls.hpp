// Helpers of autograd functions and of layers that call tandem's kernels: bits of tensors, options
// of libtorch's layers, and tasks on its threads. Throws what tasks throw; padding_of() throws
// std::bad_variant_access if the padding is a word.
#pragma once

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "tandem/kernels/convolution.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A capsule that forward has put into the context's saved_data.
template <class Saved>
c10::intrusive_ptr<Saved> saved_as(AutogradContext* context, const char* key) {
  return c10::static_intrusive_pointer_cast<Saved>(context->saved_data[key].toCapsule());
}

// A gradient as kernels for images take it.
inline torch::Tensor bfloat16_images(const torch::Tensor& gradient) {
  return gradient.to(torch::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
}

inline std::size_t size_of(const torch::Tensor& tensor, std::int64_t dimension) {
  return static_cast<std::size_t>(tensor.size(dimension));
}

// The elements of a bfloat16 tensor as the bits that kernels use.
inline std::uint16_t* bits_of(const torch::Tensor& tensor) {
  return static_cast<std::uint16_t*>(tensor.data_ptr());
}

// The elements of a tensor of numbers, in fp64 on the host.
inline std::vector<double> doubles_of(const torch::Tensor& values) {
  const torch::Tensor on_host = values.to(torch::kFloat64).contiguous();
  return {on_host.data_ptr<double>(), on_host.data_ptr<double>() + on_host.numel()};
}

// An optional tensor of a layer in the form that autograd functions take.
inline c10::optional<torch::Tensor> present(const torch::Tensor& tensor) {
  if (!tensor.defined()) return c10::nullopt;
  return tensor;
}

inline const torch::ExpandingArray<2>& padding_of(const torch::nn::Conv2dImpl& convolution) {
  using std::get;  // libtorch 1.13 has a variant, and a get, of its own
  return get<torch::ExpandingArray<2>>(convolution.options.padding());
}

// libtorch can also pad by the image's own numbers.
inline bool pads_zeros(const torch::nn::Conv2dImpl& convolution) {
  using std::holds_alternative;  // as get above
  return holds_alternative<torch::enumtype::kZeros>(convolution.options.padding_mode());
}

inline bool all_are(const torch::ExpandingArray<2>& sizes, std::int64_t size) {
  return sizes->front() == size && sizes->back() == size;
}

// Whether the convolution is of a form that kernels know: square fp32 filters with one stride and
// one padding by zeros, no groups or dilation, and images on the CPU. Both are in channels-last
// layout, and an image with its padding has room for a filter.
inline bool is_plain(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x) {
  const auto& options = convolution.options;
  const torch::Tensor& filters = convolution.weight;
  const std::int64_t side = options.kernel_size()->front();
  if (!x.is_cpu() || !filters.is_cpu() || filters.scalar_type() != torch::kFloat32 ||
      x.dim() != 4 || x.size(1) != filters.size(1) || options.groups() != 1 ||
      !pads_zeros(convolution) || !all_are(options.kernel_size(), side) ||
      !all_are(options.stride(), options.stride()->front()) || !all_are(options.dilation(), 1)) {
    return false;
  }
  const std::int64_t padding = padding_of(convolution)->front();
  return all_are(padding_of(convolution), padding) &&
         std::min(x.size(2), x.size(3)) + 2 * padding >= side &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         filters.is_contiguous(at::MemoryFormat::ChannelsLast);
}

inline kernels::ConvolutionSizes convolution_sizes(const torch::Tensor& x,
                                                   const torch::Tensor& filters,
                                                   std::int64_t stride, std::int64_t padding) {
  kernels::ConvolutionSizes sizes;
  sizes.images = size_of(x, 0);
  sizes.channels = size_of(x, 1);
  sizes.height = size_of(x, 2);
  sizes.width = size_of(x, 3);
  sizes.filters = size_of(filters, 0);
  sizes.side = size_of(filters, 2);
  sizes.stride = static_cast<std::size_t>(stride);
  sizes.padding = static_cast<std::size_t>(padding);
  return sizes;
}

// Memory for the results of a convolution of x, in channels-last layout.
inline torch::Tensor empty_results(const torch::Tensor& x, const kernels::ConvolutionSizes& sizes) {
  return torch::empty(
      {x.size(0), static_cast<std::int64_t>(sizes.filters),
       static_cast<std::int64_t>(sizes.out_height()), static_cast<std::int64_t>(sizes.out_width())},
      x.options(), at::MemoryFormat::ChannelsLast);
}

// Runs tasks 0 to count - 1.
inline void for_each(std::size_t count, const std::function<void(std::size_t)>& task) {
  at::parallel_for(0, static_cast<std::int64_t>(count), 1,
                   [&task](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) task(static_cast<std::size_t>(i));
                   });
}

// A batch is cut into blocks of a fixed number of images. Sums per block, and then over the blocks,
// do not depend on the number of threads.
constexpr std::size_t kImagesPerBlock = 4;

inline std::size_t image_blocks(std::size_t images) {
  return (images + kImagesPerBlock - 1) / kImagesPerBlock;
}

// task(block, its first image, its images) for each block.
template <class Task>
void for_each_image_block(std::size_t images, const Task& task) {
  const auto blocks = static_cast<std::int64_t>(image_blocks(images));
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto block = static_cast<std::size_t>(begin); block < static_cast<std::size_t>(end);
         ++block) {
      const std::size_t first = block * kImagesPerBlock;
      task(block, first, std::min(kImagesPerBlock, images - first));
    }
  });
}

// task(block, image) for each image; those of a block on one thread, in their order.
template <class Task>
void for_each_image(std::size_t images, const Task& task) {
  for_each_image_block(images, [&](std::size_t block, std::size_t first, std::size_t of_block) {
    for (std::size_t image = first; image < first + of_block; ++image) task(block, image);
  });
}

}  // namespace tandem::model
