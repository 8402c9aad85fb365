// What makes a run the same run when it goes on: which options, data and network must be those of
// its checkpoint. Module-private. Main thread. Throws: AgreedError with 78 on every rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run_start.hpp"
#include "tandem/app/job.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

// Collective. Compares what the run was started with and what it is to go on with; all differences
// are named.
// `network_sha256`: of the file that --model names; empty where it names none.
void require_same_run(Job& job, const RunStart& start, const Options& options,
                      const std::string& data_digest, const std::string& network_sha256,
                      std::uint64_t global_batch);

// Rank 0's part of it: what differs.
std::vector<std::string> differences_from(const RunStart& start, const Options& options,
                                          const std::string& data_digest,
                                          const std::string& network_sha256,
                                          std::uint64_t global_batch);

// What a checkpoint keeps of the options for that comparison, as JSON.
std::string options_to_keep(const Options& options);
// These again, on rank 0; null or discarded where the checkpoint has none that can be read.
Json kept_options(const RunStart& start);

// A run that goes on keeps its global batch, whatever the number of ranks would make of it.
void keep_global_batch(Job& job, const RunStart& start, train::TrainConfig& config);

}  // namespace tandem::app
