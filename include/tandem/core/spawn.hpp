// Starts another program.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace tandem {

// Starts words[0], which is looked up in PATH, with these words. `descriptors`: pairs of one of
// this process and the number that it gets in the program; all others are inherited unless they
// close on exec. The caller waits for the process. UnavailableError, which ends with `fix`.
pid_t start_program(const std::vector<std::string>& words,
                    const std::vector<std::pair<int, int>>& descriptors,
                    const std::string& fix = "");

}  // namespace tandem
