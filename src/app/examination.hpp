// What: all that `tandem doctor` looks at, in one collective run.
// Owns: values. Threads: the main thread. Throws: InternalError from the MPI call that failed; what
// is wrong with program, machine or data is a fact.
#pragma once

#include <string>
#include <vector>

#include "doctor_judge.hpp"
#include "tandem/app/commands.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

// On rank 0; elsewhere empty.
struct Examination {
  std::vector<RankFacts> facts;
  Measurements measurements;
};

// Collective, in an order that depends on nothing but `data`, which may be empty. Where the ranks
// run programs of different versions, on nothing is looked but these. `arguments`: of this rank.
Examination examine(Job& job, const std::string& data, int threads, const Arguments& arguments);

Json pairs_to_json(const std::vector<PairSpeed>& pairs);

}  // namespace tandem::app
