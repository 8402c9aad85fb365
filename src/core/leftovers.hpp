// Temporary files that killed processes left behind.
#pragma once

#include <string>

namespace tandem {

// "HOST.NAMESPACE.": host and PID namespace of this process. Containers may share a host name.
std::string maker_prefix();

// Removes temporary files for `name` in `folder` whose process ran in this PID namespace and has
// ended; they may be large.
void remove_orphans(const std::string& folder, const std::string& name);

}  // namespace tandem
