// Programs that a command starts.
#pragma once

#include <string>

#include "cli/options.hpp"

namespace tandem::app {

// Waits for a program, found on the PATH. The exit code, as a shell gives it. Throws
// UnavailableError if it cannot be started; `fix` follows in the message.
int run_program(const Arguments& words, const std::string& fix);

// The mpirun of this program's MPI library, with these words behind it. More ranks than cores are
// allowed, and root, as in a container.
int run_mpirun(const Arguments& words);

struct ProgramEnd {
  int code = 0;
  std::string output;  // what it wrote on standard output
};
// As run_mpirun(), but standard output is not printed.
ProgramEnd capture_mpirun(const Arguments& words);

}  // namespace tandem::app
