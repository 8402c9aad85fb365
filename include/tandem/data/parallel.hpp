// What: the same work for each of many things, done by several threads. Owns: the threads, while it
// runs. Threads: any. Throws: what the work throws.
#pragma once

#include <cstddef>
#include <functional>

namespace tandem::data {

// Calls work(0) … work(count - 1), each thread taking the next one, because things differ in what
// they take. Where work throws, rethrows for the lowest number, so that the same fault is told
// whatever the threads; what comes after it may be left undone.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace tandem::data
