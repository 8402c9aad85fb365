// Statistics of several runs that differ in their seed: the time to an accuracy, its confidence
// interval, and a test of the accuracy against a target. Throws DataError if a run lacks the
// metrics or summary of a completed run; IoError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/json.hpp"
#include "tandem/metrics/run_record.hpp"

namespace tandem::app {

struct TimedRun {
  std::string run_id;
  std::uint64_t seed = 0;
  double train_seconds = 0;  // of all steps
  // The time of the steps before the first evaluation that reached the target.
  std::optional<double> seconds_to_target;
  double accuracy = 0;  // of the last evaluation
  std::optional<double> accuracy_tta;
};

// With test-time augmentation (--tta) its accuracy counts for the target.
TimedRun time_run(const metrics::RunRecord& run, std::uint64_t seed, double target);

// The mean of a sample and the interval that holds that of all with a confidence of 95 %, by
// Student's distribution. Of a single value the interval has no bounds: nothing is known of others.
struct MeanInterval {
  double mean = 0;
  std::optional<double> least;
  std::optional<double> most;
};
MeanInterval mean_interval(const std::vector<double>& sample);
// Student's one-sided t-test: the probability of a sample mean this high if the true mean were
// `target`. If it is small, runs exceed the target on average. None for fewer than two values.
std::optional<double> p_above(const std::vector<double>& sample, double target);
// null for no interval, as for an empty sample.
Json to_json(const std::vector<double>& sample);
// "0.8931 (0.8910 to 0.8952)", "-"
std::string to_text(const std::vector<double>& sample, int digits);

}  // namespace tandem::app
