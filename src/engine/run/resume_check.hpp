// Checks what a resumed run must share with its checkpoint, options, data and network, and that it
// makes progress. Main thread. Throws AgreedError on every rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run_start.hpp"
#include "session/job.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::app {

// Collective. Compares the run's first start with this one and names all differences (78).
// `info`: of the data set of this start. `network_sha256`: of the file that --model names; empty if
// it names none. Options of picture files may differ where the set has pixels.
void require_same_run(Job& job, const RunStart& start, const Options& options,
                      const data::DatasetInfo& info, const std::string& network_sha256,
                      std::uint64_t global_batch);

// Rank 0's part: the differences.
std::vector<std::string> differences_from(const RunStart& start, const Options& options,
                                          const data::DatasetInfo& info,
                                          const std::string& network_sha256,
                                          std::uint64_t global_batch);

// Collective. Throws AgreedError with 70 if the last `most` starts all began at the step of this
// start; 0: never. This ends a job that a batch system or jobs/supervise.sh would start again and
// again without a new checkpoint.
void require_progress(Job& job, const RunStart& start, std::uint64_t most);

}  // namespace tandem::app
