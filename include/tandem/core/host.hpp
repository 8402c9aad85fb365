// What: how this machine is called by its kernel, and this thread by its debuggers; needs no MPI.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <string>

namespace tandem {

// "localhost" where the kernel has no answer.
std::string kernel_host_name();
// As `top -H` and gdb show it; at most 15 letters.
void name_this_thread(const char* name);

}  // namespace tandem
