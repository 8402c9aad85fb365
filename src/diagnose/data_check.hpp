// Checks that every rank can read the data set and that all read the same one. Main thread. Faults
// of the file are facts in the result; InternalError if MPI fails.
#pragma once

#include <string>

#include "doctor_facts.hpp"
#include "session/job.hpp"
#include "tandem/core/touch.hpp"

namespace tandem::app {

// Collective over the ranks of each host. The first of them proves the file, and so does each that
// finds another one under this path. `touch` is called as reading advances.
void look_at_data(Job& job, const std::string& path, RankFacts& facts, const Touch& touch);

}  // namespace tandem::app
