#include "tandem/comm/launchers.hpp"

#include <cstdlib>

#include "tandem/comm/runtime.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {

std::vector<Launcher> all_launchers() {
  return {open_mpi_4(), open_mpi_5(), pmix(), mpich(), intel_mpi(), flux(), slurm()};
}

Launcher launcher_of_process() {
  for (const Launcher& each : all_launchers()) {
    if (std::getenv(each.rank) != nullptr) return each;
  }
  return {};
}

std::string start_of_process() {
  for (const Launcher& each : all_launchers()) {
    const bool is_this = each.mark != nullptr && std::getenv(each.mark) != nullptr &&
                         std::getenv(each.rank) != nullptr;
    if (!is_this) continue;
    std::string start = each.start;
    const char* binding = each.binding == nullptr ? nullptr : std::getenv(each.binding);
    // Other bindings depend on --map-by, which the line does not repeat.
    const bool is_unbound = binding != nullptr && std::string(binding) == "none";
    if (is_unbound) start.insert(start.find(' ') + 1, "--bind-to none ");
    return start;
  }
  return "";
}

Launcher launcher_of_library() {
  const std::string version = mpi_library_version();
  for (const Launcher& each : all_launchers()) {
    if (each.library != nullptr && begins_with(version, each.library)) return each;
  }
  return open_mpi_4();
}

}  // namespace tandem::comm
