// What: a whole text to a descriptor, in one write where the kernel takes it at once.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <string_view>

namespace tandem {

// Returns errno, 0 where all was written. Waits at most `patience` milliseconds each time that
// nobody takes what is written, then returns ETIMEDOUT; -1: for ever.
int write_all(int descriptor, std::string_view text, int patience = -1);

}  // namespace tandem
