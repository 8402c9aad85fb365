// The exit code of a command that continues after files with faults.
#pragma once

#include "tandem/core/error.hpp"

namespace tandem::app {

// The worse of two codes, in any order. From worst to best: any other code (the higher number is
// worse), damage, failed read, missing file, no fault.
ExitCode worse_of(ExitCode one, ExitCode other);

}  // namespace tandem::app
