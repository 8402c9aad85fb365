// tandem doctor --hosts, which runs without a launcher.
#pragma once

#include "cli/options.hpp"

namespace tandem::app {

// Tests the hosts that --hosts names. If no finding is an error, runs the doctor on them by mpirun.
// Returns the exit code.
int run_doctor_of_hosts(const Arguments& arguments);

}  // namespace tandem::app
