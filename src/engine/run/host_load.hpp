// How busy hosts are while something is measured on them. Main thread.
#pragma once

#include <string>
#include <vector>

#include "session/job.hpp"

namespace tandem::app {

// A rank and its host between the two calls of a HostMeter. Cores are means over that time.
struct RankLoad {
  comm::Topology topology;
  int threads = 1;
  double own_cores = 0;   // of this rank
  double busy_cores = 0;  // of all programs on its host
};

class HostMeter {
 public:
  HostMeter();  // begins to measure

  // Collective. On rank 0 all ranks, elsewhere empty.
  std::vector<RankLoad> finish(Job& job, int threads) const;

 private:
  double began_;
  double own_seconds_;
  double busy_seconds_;
};

// A line for each host whose cores are wanted by other programs too, and one where ranks share
// cores; "" for none.
std::string describe_load(const std::vector<RankLoad>& ranks);

// Of all hosts together: the cores that other programs used.
double cores_of_others(const std::vector<RankLoad>& ranks);

}  // namespace tandem::app
