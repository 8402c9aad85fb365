// What: work over a batch in parts of a fixed number of images, so that sums which are made for
// each part, and then over the parts, do not depend on the number of threads. Private to the
// module. Owns: nothing. Threads: tasks run on libtorch's. Throws: what tasks throw.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tandem::model {

constexpr std::size_t kImagesOfPart = 4;

inline std::size_t image_parts(std::size_t images) {
  return (images + kImagesOfPart - 1) / kImagesOfPart;
}

// task(part, its first image, its images) for each part.
template <class Task>
void for_each_image_part(std::size_t images, const Task& task) {
  const auto parts = static_cast<std::int64_t>(image_parts(images));
  at::parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto part = static_cast<std::size_t>(begin); part < static_cast<std::size_t>(end);
         ++part) {
      const std::size_t first = part * kImagesOfPart;
      task(part, first, std::min(kImagesOfPart, images - first));
    }
  });
}

}  // namespace tandem::model
