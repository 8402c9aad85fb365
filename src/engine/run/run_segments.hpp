// The starts of a run, as manifest.json lists them, and whether its last options repeat it. Rank 0.
#pragma once

#include <cstdint>
#include <string>

#include "cli/options.hpp"
#include "session/engine.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

// This start.
Json make_segment(const RunRequest& run, std::uint64_t first_step, std::uint64_t world,
                  std::uint64_t schedule_steps);

// Number of the last consecutive starts that began at this step.
std::uint64_t starts_from(const Json& segments, std::uint64_t step);

// The heading of config.ini. It names the options that differ between the starts of the run, except
// those of reports and checkpoints. Starts whose steps a later start replaced do not count.
std::string describe_repetition(const OptionTable& table, const Json& segments);

}  // namespace tandem::app
