// Compiled kernels in files, so that only the first run on a host compiles. An entry is written
// whole, and one process of the host makes it while the others wait. A damaged entry is made anew.
// A folder that cannot be written costs only time. Throws what `make` throws.
#pragma once

#include <functional>
#include <string>

namespace tandem::gpu {

// $XDG_CACHE_HOME/tandem, or ~/.cache/tandem; "" if neither variable is set.
std::string cache_folder();

// The content of entry `name` of the folder, or what `make` returns, which becomes the entry.
std::string cached(const std::string& folder, const std::string& name,
                   const std::function<std::string()>& make);

}  // namespace tandem::gpu
