// The completion scripts for bash and zsh, from the table of commands.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"

namespace tandem::app {

// A file for share/bash-completion/completions, which needs no other.
std::string bash_completion(const std::vector<Command>& commands);
// A file "_tandem" for a folder of zsh's fpath.
std::string zsh_completion(const std::vector<Command>& commands);

}  // namespace tandem::app
