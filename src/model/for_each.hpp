// Runs the tasks of a kernel on libtorch's threads. Throws what tasks throw.
#pragma once

#include <ATen/Parallel.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tandem::model {

inline void for_each(std::size_t count, const std::function<void(std::size_t)>& task) {
  at::parallel_for(0, static_cast<std::int64_t>(count), 1,
                   [&task](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) task(static_cast<std::size_t>(i));
                   });
}

}  // namespace tandem::model
