#include "tandem/metrics/sample_series.hpp"

#include <cmath>

#include "tandem/metrics/extremes.hpp"

namespace tandem::metrics {

void SampleSeries::add(const Sample& sample, double steps) {
  samples_.push_back(sample);
  if (std::isfinite(sample.value)) {
    ++count_;
    sum_ += sample.value;
    weight_ += steps;
    weighted_sum_ += steps * sample.value;
    highest_ = std::fmax(highest_, sample.value);
  }
  if (samples_.size() > kMax) thin();
}

// To half of the room, so that it is done seldom. The stretch grows only where the old one leaves
// too many, because those that came last have not been thinned at all. It ends: in a stretch as
// long as all steps four are left at most.
void SampleSeries::thin() {
  for (;; stretch_ *= 2) {
    samples_ = keep_extremes(
        samples_, [&](const Sample& sample) { return std::floor(sample.step / stretch_); },
        [](const Sample& sample) { return sample.value; });
    if (samples_.size() <= kMax / 2) return;
  }
}

}  // namespace tandem::metrics
