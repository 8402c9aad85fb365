// The manual page tandem(1), from the table of commands.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"

namespace tandem::app {

// In the man macros of roff, without a last line break.
std::string man_page(const std::vector<Command>& commands);

}  // namespace tandem::app
