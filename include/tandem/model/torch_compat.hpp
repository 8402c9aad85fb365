// What: the one place where libtorch's versions (1.13 and later) differ.
// Owns: nothing. Threads: autocast's state belongs to the calling thread. Throws: nothing.
#pragma once

#include <string>

namespace tandem::model {

// Of the library that is loaded, as it names itself: "1.13.0" for Debian's 1.13.1 package.
std::string torch_version();

// Autocast to bfloat16 on the CPU.
bool cpu_autocast_enabled();
void set_cpu_autocast_enabled(bool enabled);

}  // namespace tandem::model
