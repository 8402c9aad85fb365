// What: whether every rank can use the data set, and whether it is the same one.
// Owns: nothing. Threads: the main thread. Throws: InternalError from the MPI call that failed;
// what is wrong with the file is a fact.
#pragma once

#include <string>

#include "doctor_facts.hpp"
#include "tandem/app/job.hpp"

namespace tandem::app {

// Collective over the ranks of each host. The first of them proves the file, and so does each that
// finds another one under this path. `touch` is called as reading advances.
void look_at_data(Job& job, const std::string& path, RankFacts& facts, const Touch& touch);

}  // namespace tandem::app
