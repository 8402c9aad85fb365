// What: a whole text to a descriptor, in one write where the kernel takes it at once.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <string_view>

namespace tandem {

// Returns errno, 0 where all was written.
int write_all(int descriptor, std::string_view text);

}  // namespace tandem
