// In place of src/core/version.cpp: a program of the version that the variable FAKE_TANDEM_VERSION
// says, so that ranks can run different ones.
#include "tandem/core/version.hpp"

#include <cstdlib>

namespace tandem {

std::string version() {
  const char* version = std::getenv("FAKE_TANDEM_VERSION");
  return version == nullptr ? "0.1.0" : version;
}

std::string source_date() { return "2026-03-14"; }

std::string source_version() { return "test"; }

// Of the engine that it opens.
std::string build_version() { return TANDEM_BUILD_VERSION; }

std::string build_summary() { return "test"; }

}  // namespace tandem
