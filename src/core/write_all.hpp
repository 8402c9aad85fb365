// Writes a whole text to a descriptor, in one write if the kernel accepts it at once.
#pragma once

#include <string_view>

namespace tandem {

// Returns errno; 0 if everything was written. Each time the descriptor is not writable, waits at
// most `patience` milliseconds, then returns ETIMEDOUT; -1: no limit.
int write_all(int descriptor, std::string_view text, int patience = -1);

}  // namespace tandem
