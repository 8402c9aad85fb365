// What: what is wrong with a job, judged from the facts of its ranks, each fault with a code of its
// own and a cure. Owns: values. Threads: any. Throws: nothing.
//
// Plain values go in, so that every finding can be tested without the fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doctor_facts.hpp"

namespace tandem::app {

struct Finding {
  std::string code;  // "E…" is an error, "W…" a warning
  std::string what;
  std::string cure;
  std::vector<int> ranks;  // which it is about

  bool is_error() const { return code.front() == 'E'; }
  // "E110 …; CURE"
  std::string text() const { return code + " " + what + "; " + cure; }
};

// How fast two ranks send to each other, each in both directions at once.
struct PairSpeed {
  int first = 0;
  int second = 0;
  double bytes_per_second = 0;
};

struct Measurements {
  std::vector<PairSpeed> pairs;   // none: not measured
  std::uint64_t image_bytes = 0;  // of --data, held once by each host; 0: unknown
};

// `facts` in the order of ranks. Errors come first; what many ranks or hosts have in common is one
// finding.
std::vector<Finding> judge(const std::vector<RankFacts>& facts, const Measurements& measurements);

}  // namespace tandem::app
