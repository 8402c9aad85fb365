// Runs the same work for many items on several threads. Throws what the work throws.
#pragma once

#include <cstddef>
#include <functional>

namespace tandem::data {

// Calls work(0) … work(count - 1); each thread takes the next one, because their costs differ. If
// work throws, rethrows the error of the lowest number, so that the error does not depend on
// threads; later items may be left undone.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace tandem::data
