// Notes and warnings at the start of a run.
#pragma once

#include <cstdint>
#include <string>

#include "engine/compute_setup.hpp"
#include "run_inputs.hpp"
#include "run_start.hpp"
#include "tandem/metrics/sink.hpp"

namespace tandem::app {

// Rank 0: prints and logs the notes and warnings at the start of the run.
void report_start(const RunStart& start, const RunInputs& inputs, const ComputeSetup& setup,
                  const metrics::Sinks& sinks, bool quiet);
// "nothing to resume in runs/frist: starting at step 0", with the last step of a killed run or the
// name of a similar run.
std::string describe_nothing_found(const RunStart& start);
// A message if the run has already done more steps than `total_steps`; otherwise "".
std::string describe_surplus(const RunStart& start, std::uint64_t total_steps);

}  // namespace tandem::app
