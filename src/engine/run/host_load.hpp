// Measures the CPU load of hosts during a measurement. Main thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "session/job.hpp"

namespace tandem::app {

// A rank and its host, from the construction of a HostMeter to finish(). Cores are means over that
// time.
struct RankLoad {
  comm::Topology topology;
  int threads = 1;
  double own_cores = 0;   // of this rank
  double busy_cores = 0;  // of all programs on its host
};

class HostMeter {
 public:
  HostMeter();  // begins to measure

  // Collective. Returns all ranks on rank 0; empty on other ranks.
  std::vector<RankLoad> finish(Job& job, int threads) const;

 private:
  std::chrono::steady_clock::time_point began_;
  double own_seconds_;
  double busy_seconds_;
};

// A line for each host whose cores other programs also use, and one for hosts where ranks share
// cores; "" if there is none.
std::string describe_load(const std::vector<RankLoad>& ranks);

// The cores that other programs used, summed over hosts.
double cores_of_others(const std::vector<RankLoad>& ranks);

}  // namespace tandem::app
