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

struct ExaminationRequest {
  std::string data;  // may be empty
  int threads = 1;
};

// Collective, in an order that depends on nothing but the request. Where the ranks run programs of
// different versions, nothing is looked at but these. `arguments`: of this rank.
Examination examine(Job& job, const ExaminationRequest& request, const Arguments& arguments);

Json pairs_to_json(const std::vector<PairSpeed>& pairs);

}  // namespace tandem::app
