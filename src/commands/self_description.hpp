// The manual page and the shell completions, from the table of commands.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"

namespace tandem::app {

// tandem(1) in the man macros of roff, without a last line break.
std::string man_page(const std::vector<Command>& commands);
// A file for share/bash-completion/completions, which needs no other.
std::string bash_completion(const std::vector<Command>& commands);
// A file "_tandem" for a folder of zsh's fpath.
std::string zsh_completion(const std::vector<Command>& commands);

}  // namespace tandem::app
