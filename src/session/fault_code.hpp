// The exit code of a command that continues after files with faults.
#pragma once

#include <set>
#include <string>

#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"

namespace tandem::app {

// The worse of two codes, in any order. From worst to best: any other code (the higher number is
// worse), damage, failed read, missing file, no fault.
ExitCode worse_of(ExitCode one, ExitCode other);

// Reports an error of one file and continues with the next. `reported`: the messages so far,
// because the checkpoints of a run share a network, and its error is reported once.
template <typename Check>
ExitCode checked(std::set<std::string>& reported, const Check& check) {
  try {
    return check();
  } catch (const Error& error) {
    if (reported.insert(error.what()).second) print_error(error.what());
    return error.code();
  }
}

}  // namespace tandem::app
