#include "tandem/metrics/system_sampler.hpp"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "system_probe.hpp"
#include "tandem/core/host.hpp"

namespace tandem::metrics {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{5};
// For the first sample of a run that ends before one is due. Once: training waits for it.
constexpr std::chrono::milliseconds kFirstSample{500};

SystemSampler::OpenReader reader_of(const std::string& gpu_bus_id) {
  return [gpu_bus_id] {
    const auto probe = std::make_shared<const SystemProbe>(gpu_bus_id);
    return [probe] { return probe->read(); };
  };
}

}  // namespace

struct SystemSampler::Shared {
  std::mutex mutex;  // guards all of it; never held while a reading is made
  std::condition_variable changed;
  UsageWindow window;
  bool is_wanted = false;  // a sample, now
  bool was_wanted = false;
  bool is_stopping = false;
  bool has_ended = false;  // the thread, which uses nothing of its owner any more

  void sample(double interval_seconds, const OpenReader& open) {
    const Read read = open();
    const auto interval = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(interval_seconds));
    const auto add = [&] {
      const SystemReading reading = read();
      const std::lock_guard<std::mutex> lock(mutex);
      window.add(reading);
      changed.notify_all();
    };
    add();
    while (waits_until(Clock::now() + interval)) add();
  }
  // False: no more are wanted.
  bool waits_until(Clock::time_point due) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_until(lock, due, [this] { return is_stopping || is_wanted; });
    is_wanted = false;
    return !is_stopping;
  }
};

SystemSampler::SystemSampler(double interval_seconds, const std::string& gpu_bus_id,
                             const Warn& warn)
    : SystemSampler(interval_seconds, reader_of(gpu_bus_id), kPatience, warn) {}

SystemSampler::SystemSampler(double interval_seconds, OpenReader open,
                             std::chrono::milliseconds patience, const Warn& warn)
    : patience_(patience) {
  if (interval_seconds == 0) return;
  shared_ = std::make_shared<Shared>();
  try {
    thread_ = std::thread([shared = shared_, interval_seconds, open = std::move(open)] {
      name_this_thread("system");
      shared->sample(interval_seconds, open);
      const std::lock_guard<std::mutex> lock(shared->mutex);
      shared->has_ended = true;
      shared->changed.notify_all();
    });
  } catch (const std::system_error& error) {
    shared_.reset();
    warn(std::string("--system-interval: cannot start its thread (") + error.what() +
         "), so ranks/*.jsonl will lack CPU, memory and GPU of this rank; "
         "raise the limit of processes (ulimit -u), or give 0");
  }
}

SystemSampler::~SystemSampler() {
  if (!shared_) return;
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->is_stopping = true;
  shared_->changed.notify_all();
  const bool has_ended =
      shared_->changed.wait_for(lock, patience_, [this] { return shared_->has_ended; });
  lock.unlock();
  if (has_ended) {
    thread_.join();
  } else {  // a driver that does not answer is not worth the end of a run
    thread_.detach();
  }
}

SystemUsage SystemSampler::take() {
  if (!shared_) return {};
  std::unique_lock<std::mutex> lock(shared_->mutex);
  UsageWindow& window = shared_->window;
  if (!window.has_samples() && !std::exchange(shared_->was_wanted, true)) {
    shared_->is_wanted = true;
    shared_->changed.notify_all();
    shared_->changed.wait_for(lock, kFirstSample, [&] { return window.has_samples(); });
  }
  return window.take();
}

}  // namespace tandem::metrics
