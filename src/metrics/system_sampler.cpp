#include "tandem/metrics/system_sampler.hpp"

#include <chrono>

#include "system_probe.hpp"
#include "tandem/core/host.hpp"

namespace tandem::metrics {

SystemSampler::SystemSampler(double interval_seconds, const std::string& gpu_bus_id)
    : interval_seconds_(interval_seconds) {
  if (interval_seconds == 0) return;
  probe_ = std::make_unique<SystemProbe>(gpu_bus_id);
  last_reading_ = std::make_unique<SystemReading>(probe_->read());
  thread_ = std::thread([this] { run(); });
}

SystemSampler::~SystemSampler() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

SystemUsage SystemSampler::latest() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!probe_ || usage_.samples > 0) return usage_;
  }
  sample();
  const std::lock_guard<std::mutex> lock(mutex_);
  return usage_;
}

void SystemSampler::sample() {
  const std::lock_guard<std::mutex> reading(reading_mutex_);
  const SystemReading now = probe_->read();
  SystemUsage usage = usage_between(*last_reading_, now);
  *last_reading_ = now;
  const std::lock_guard<std::mutex> lock(mutex_);
  usage.samples = usage_.samples + 1;
  usage_ = usage;
}

void SystemSampler::run() {
  name_this_thread("system");
  using Clock = std::chrono::steady_clock;
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval_seconds_));
  auto due = Clock::now() + interval;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_until(lock, due, [this] { return stopping_; })) {
    lock.unlock();
    sample();
    lock.lock();
    due = Clock::now() + interval;
  }
}

}  // namespace tandem::metrics
