#include "tandem/comm/launchers.hpp"

#include <cstdlib>

#include "tandem/comm/runtime.hpp"

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
    const std::string start = each.start;
    const char* binding = each.binding == nullptr ? nullptr : std::getenv(each.binding);
    // Other bindings depend on --map-by, which the line does not repeat.
    if (binding == nullptr || std::string(binding) != "none") return start;
    const std::size_t program = start.find(' ') + 1;
    return start.substr(0, program) + "--bind-to none " + start.substr(program);
  }
  return "";
}

Launcher launcher_of_library() {
  const std::string version = mpi_library_version();
  for (const Launcher& each : all_launchers()) {
    if (each.library != nullptr && version.rfind(each.library, 0) == 0) return each;
  }
  return open_mpi_4();
}

}  // namespace tandem::comm
