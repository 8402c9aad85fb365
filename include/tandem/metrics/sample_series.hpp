// What: a field over steps as it is read from a file of any length: sums of all its samples, and,
// of more than there is room for, those that a drawing needs. Owns: values. Threads: one at a time.
// Throws: nothing.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace tandem::metrics {

struct Sample {
  double step;
  double epoch;  // not a number where its line has none
  double value;  // not a number where the file says null
};

class SampleSeries {
 public:
  // More of them are thinned, again and again: of each stretch of steps, all equally long, the
  // lowest and the highest value stay, and the first and the last sample of all.
  static constexpr std::size_t kMax = std::size_t{1} << 15;

  // `steps`: that the sample speaks of.
  void add(const Sample& sample, double steps);

  const std::vector<Sample>& samples() const { return samples_; }
  // Of all finite values, those that were thinned out included; not a number where there are none.
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
