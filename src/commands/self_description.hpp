// The manual page and the shell completions, from the table of commands.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"

namespace tandem::app {

// tandem(1) in the man macros of roff, without a last line break.
std::string man_page(const std::vector<Command>& commands);

struct Candidate {
  std::string word;  // ":files" and ":folders": paths, which the shell completes
  std::string help;  // may be empty; of ":files" a pattern of their names
};
// The candidates for the last word of a command line without the program's name.
std::vector<Candidate> complete(const std::vector<Command>& commands,
                                const std::vector<std::string>& words);
// Shell functions that ask `tandem __complete WORDS`: a file for share/bash-completion/completions,
// and a file "_tandem" for a folder of zsh's fpath.
std::string bash_completion();
std::string zsh_completion();

}  // namespace tandem::app
