#include "usage_window.hpp"

#include <algorithm>

namespace tandem::metrics {

void UsageWindow::add(const SystemReading& reading) {
  if (!begin_) {
    begin_ = reading;
    return;
  }
  last_ = reading;
  ++samples_;
  const SystemUsage now = usage_between(*begin_, reading);
  for (std::size_t i = 0; i < kSystemValues; ++i) {
    const double value = now.values[i];
    double& sum = usage_.values[i];
    if (kSystemValueSpecs[i].over == Over::kTime) {
      sum = value;
      continue;
    }
    if (!SystemUsage::is_present(value)) continue;
    const bool is_first = counts_[i]++ == 0;
    switch (kSystemValueSpecs[i].over) {
      case Over::kHighest:
        sum = is_first ? value : std::max(sum, value);
        break;
      case Over::kMean:
        sum = is_first ? value : sum + value;
        break;
      case Over::kLast:
      case Over::kTime:
        sum = value;
    }
  }
}

SystemUsage UsageWindow::take() {
  if (!last_) return taken_;
  begin_ = last_;
  last_.reset();
  taken_ = usage_;
  taken_.samples = samples_;
  for (std::size_t i = 0; i < kSystemValues; ++i) {
    const bool is_mean = kSystemValueSpecs[i].over == Over::kMean && counts_[i] > 0;
    if (is_mean) taken_.values[i] /= counts_[i];
  }
  usage_ = {};
  counts_ = {};
  return taken_;
}

}  // namespace tandem::metrics
