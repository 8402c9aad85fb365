#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <limits>
#include <mutex>
#include <vector>

#include "tandem/core/thread.hpp"

namespace tandem::data {

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> undone{0};
  std::atomic<std::size_t> first_failed{std::numeric_limits<std::size_t>::max()};
  std::exception_ptr failure;
  std::mutex mutex;  // guards failure, and changes of first_failed
  const auto work_on = [&] {
    for (std::size_t i = undone++; i < count && i < first_failed; i = undone++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (i < first_failed) {
          first_failed = i;
          failure = std::current_exception();
        }
      }
    }
  };
  {
    std::vector<std::future<void>> helpers;  // joined at the end of the scope
    const std::size_t most = std::min(static_cast<std::size_t>(std::max(threads, 1)), count);
    for (std::size_t i = 1; i < most; ++i) {
      // If no thread can be started, this thread does the remaining work.
      helpers.push_back(std::async(kThreadIfGranted, work_on));
    }
    work_on();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tandem::data
