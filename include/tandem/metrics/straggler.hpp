// Finds the rank for which all others wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/metrics/system_usage.hpp"

namespace tandem::metrics {

// The work of one rank in some steps; seconds are means per step.
struct RankRecord {
  std::uint64_t images = 0;
  double loss = 0;              // mean over these images; 0 without images
  double data_seconds = 0;      // waiting for the loader
  double compute_seconds = 0;   // forward and backward
  double exchange_seconds = 0;  // exchange that backward did not hide, waiting for others included
  double step_seconds = 0;
  double images_per_second = 0;
  SystemUsage system = {};  // of the machine
};

struct Straggler {
  int rank = 0;
  double seconds = 0;       // per step, by which it is later than the median of the others
  double share = 0;         // of these in a step
  bool is_in_data = false;  // most of them; else in compute

  // Large enough to be reported.
  bool is_notable() const { return share >= 0.1; }
  // "slowest rank 1 (node8): +21 ms/step in data"
  std::string describe(const std::vector<std::string>& hosts) const;
};

// The rank that comes to the exchange last; absent with one rank. `ranks`: in rank order.
std::optional<Straggler> find_straggler(const std::vector<RankRecord>& ranks);

// Names a rank that has been slow for kSeconds, until it is no longer slow. Short noise names none.
class StragglerWatch {
 public:
  static constexpr double kSeconds = 10;  // of training

  // `seconds`: of training that `ranks` are means of.
  void add(const std::vector<RankRecord>& ranks, double seconds);
  // With the latest numbers.
  const std::optional<Straggler>& named() const { return named_; }

 private:
  std::optional<Straggler> named_;
  int latest_ = -1;   // the rank that is worth reporting; -1: none
  double since_ = 0;  // seconds
};

}  // namespace tandem::metrics
