// The starts of a run, and its working time: the time without the pauses between a stop and the
// next start.
#pragma once

#include <vector>

#include "tandem/core/json.hpp"
#include "tandem/metrics/metric_lines.hpp"

namespace tandem::report {

class Timeline {
 public:
  struct Start {
    double first_step = 0;  // the steps done before it
    double time = 0;        // Unix seconds
    double worked = 0;      // seconds worked before it
  };

  Timeline() = default;
  Timeline(const Json& manifest, const metrics::MetricLines& lines);

  // By time; the first begins the run. Empty if neither manifest nor lines have a time.
  const std::vector<Start>& starts() const { return starts_; }
  // Seconds; NaN if nothing is known.
  double worked(double unix_seconds) const;
  // Until the last line.
  double worked() const { return worked(last_); }

 private:
  std::vector<Start> starts_;
  double last_ = 0;
};

}  // namespace tandem::report
