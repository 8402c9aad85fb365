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

// task(part, image) for each image; those of a part on one thread, in their order.
template <class Task>
void for_each_image(std::size_t images, const Task& task) {
  for_each_image_part(images, [&](std::size_t part, std::size_t first, std::size_t of_part) {
    for (std::size_t image = first; image < first + of_part; ++image) task(part, image);
  });
}

}  // namespace tandem::model
