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

// Thins to half of the limit, so that it is rare. The range grows only if the old one leaves too
// many samples, because the latest ones have not been thinned yet. This ends: a range as long as
// all steps leaves at most four.
void SampleSeries::thin() {
  for (;; stretch_ *= 2) {
    samples_ = keep_extremes(
        samples_, [&](const Sample& sample) { return std::floor(sample.step / stretch_); },
        [](const Sample& sample) { return sample.value; });
    if (samples_.size() <= kMax / 2) return;
  }
}

}  // namespace tandem::metrics
