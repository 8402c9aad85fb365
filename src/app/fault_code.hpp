// The exit code of a command that continues after files with faults.
#pragma once

#include "tandem/core/error.hpp"

namespace tandem::app {

// The worse_of of two, whatever their order: damage, then what could not be read, then what is
// missing, then no fault. Any other outweighs all of them, the higher number first.
ExitCode worse_of(ExitCode one, ExitCode other);

}  // namespace tandem::app
