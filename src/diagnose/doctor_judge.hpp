// Derives the findings from the facts of all ranks. A pure function, so every finding can be tested
// without its fault. Findings of launcher, program, GPUs and data are in doctor_judge.cpp, those of
// the machines, which `train` and `info` also use, in machine_judge.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doctor_facts.hpp"
#include "finding.hpp"
#include "pair_speed.hpp"

namespace tandem::app {

struct Measurements {
  std::vector<PairSpeed> pairs;           // none: not measured
  std::vector<std::string> gpu_warnings;  // of what `train` would decide about GPUs
};

// `facts` in the order of ranks. Errors come first; what many ranks or hosts have in common is one
// finding.
std::vector<Finding> judge(const std::vector<RankFacts>& facts, const Measurements& measurements);

// E101, of a process that its launcher started among others that MPI knows nothing of.
Finding lone_ranks(int launched, int rank);

// W150, W151 and W152.
void judge_cpus(const std::vector<RankFacts>& facts, std::vector<Finding>& findings);
// W180 to W183.
void judge_memory(const std::vector<RankFacts>& facts, std::vector<Finding>& findings);
// W180, of images of this size that ranks could not share. `reads_files`: they read picture files
// from the data set; otherwise each has a copy.
Finding no_room_for_images(std::uint64_t bytes, bool reads_files);
// W190.
void judge_clocks(const std::vector<RankFacts>& facts, std::vector<Finding>& findings);
// W120.
void judge_pairs(const std::vector<RankFacts>& facts, const std::vector<PairSpeed>& pairs,
                 std::vector<Finding>& findings);

}  // namespace tandem::app
