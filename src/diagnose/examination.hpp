// All measurements of `tandem doctor`, in one collective call. Main thread. Faults of program,
// machine or data are facts in the result; InternalError if MPI fails.
#pragma once

#include <string>
#include <vector>

#include "doctor_judge.hpp"
#include "session/job.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

// Filled on rank 0 only.
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
