// What: what is said of an option that a command does not have.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <string>

#include "tandem/app/options.hpp"

namespace tandem::app {

// "--name is not an option", and what plays its part here: the option that it begins or nearly is,
// or, for the words of torchrun and DDP scripts, ours. Never one that is not in `table`.
std::string unknown_option(const std::string& name, const OptionTable& table);

}  // namespace tandem::app
