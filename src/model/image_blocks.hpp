// Parallel work over a batch in blocks of a fixed number of images. Sums per block, and then over
// the blocks, do not depend on the number of threads. Tasks run on libtorch's threads. Throws what
// tasks throw.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tandem::model {

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
