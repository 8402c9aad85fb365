// Turns successive readings of a machine into usage since the last query: rates over that time, and
// maximum or mean of other values. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "system_probe.hpp"
#include "tandem/metrics/system_usage.hpp"

namespace tandem::metrics {

class UsageWindow {
 public:
  // The first one is where rates begin, and no sample.
  void add(const SystemReading& reading);
  bool has_samples() const { return samples_ > 0; }
  // Without readings since the last call, the same values again.
  SystemUsage take();

 private:
  std::optional<SystemReading> begin_;  // of the time that rates are over
  std::optional<SystemReading> last_;   // absent: nothing new
  SystemUsage usage_;                   // means as sums
  std::array<double, kSystemValues> counts_{};
  double samples_ = 0;
  SystemUsage taken_;
};

}  // namespace tandem::metrics
