// What: the temporary files that processes which were killed have left. Module-private.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <string>

namespace tandem {

// Removes those of earlier attempts to write `name` in `folder` by processes of this host that have
// ended; they may be large.
void remove_orphans(const std::string& folder, const std::string& name);

}  // namespace tandem
