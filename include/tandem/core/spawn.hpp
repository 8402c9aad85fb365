// Starts another program, and what that needs: this program's own path, and pipes.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "tandem/core/file.hpp"

namespace tandem {

// The path of this program; empty where /proc is not mounted.
std::string own_program();

struct Pipe {
  File reading;
  File writing;
};

// Both ends close on exec. Throws UnavailableError.
Pipe make_pipe();

// Starts words[0], which is looked up in PATH, with these words. `descriptors`: pairs of a
// descriptor of this process and its number in the program. The program inherits all others that do
// not close on exec. The caller must wait for the process. Throws UnavailableError, which ends with
// `fix`.
pid_t start_program(const std::vector<std::string>& words,
                    const std::vector<std::pair<int, int>>& descriptors,
                    const std::string& fix = "");

}  // namespace tandem
