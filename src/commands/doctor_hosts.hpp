// tandem doctor --hosts, which runs without a launcher.
#pragma once

#include "cli/options.hpp"
#include "diagnose/finding.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

// As `--json` shows a finding.
Json to_json(const Finding& finding);

// Tests the hosts that --hosts names. If no finding is an error, runs the doctor on them by mpirun.
// Returns the exit code.
int run_doctor_of_hosts(const Arguments& arguments);

}  // namespace tandem::app
