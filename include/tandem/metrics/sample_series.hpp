// A field over the steps of a file of any length: sums of all samples, and a bounded number of
// samples for a drawing. One thread at a time.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace tandem::metrics {

struct Sample {
  double step;
  double epoch;  // NaN if its line has none
  double value;  // NaN for null in the file
};

class SampleSeries {
 public:
  // Above this number samples are thinned repeatedly: of each of equally long ranges of steps the
  // lowest and the highest value stay, and the first and the last sample of all.
  static constexpr std::size_t kMax = std::size_t{1} << 15;

  // `steps`: the number that the sample covers.
  void add(const Sample& sample, double steps);

  const std::vector<Sample>& samples() const { return samples_; }
  // The mean of all finite values, thinned ones included; NaN if there are none.
  double mean() const { return sum_ / count_; }
  double mean_per_step() const { return weighted_sum_ / weight_; }
  double highest() const { return highest_; }
  double sum() const { return sum_; }

 private:
  void thin();

  std::vector<Sample> samples_;
  double stretch_ = 1;  // steps
  double count_ = 0;
  double sum_ = 0;
  double weight_ = 0;
  double weighted_sum_ = 0;
  double highest_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace tandem::metrics
