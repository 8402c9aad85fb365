// The source version of this program and its libraries.
#pragma once

#include <string>

namespace tandem {
std::string version();         // "0.1.0"
std::string source_date();     // of that commit, "2026-03-14"; outside a checkout of the build
std::string source_version();  // the git commit, "unknown" outside a checkout
std::string build_version();   // "0.1.0 1234567890ab"; program and engine must have the same
std::string build_summary();   // compiler and build type
}  // namespace tandem
