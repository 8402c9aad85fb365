// Helpers of layers that call tandem's kernels: bits of tensors, options of libtorch's layers, and
// tasks on its threads. Throws what tasks throw; padding_of() throws std::bad_variant_access if
// the padding is a word.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

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
