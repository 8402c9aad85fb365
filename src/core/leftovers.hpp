// Temporary files that killed processes left behind.
#pragma once

#include <string>

namespace tandem {

// Removes temporary files for `name` in `folder` whose process ran on this host and has ended; they
// may be large.
void remove_orphans(const std::string& folder, const std::string& name);

}  // namespace tandem
