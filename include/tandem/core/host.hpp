// What: this machine as its kernel names it; needs no MPI.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <string>

namespace tandem {

// "localhost" where the kernel has no answer.
std::string kernel_host_name();

}  // namespace tandem
