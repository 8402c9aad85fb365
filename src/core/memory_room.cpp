#include "tandem/core/memory_room.hpp"

#include "tandem/core/cgroup.hpp"
#include "tandem/core/kernel_file.hpp"
#include "tandem/core/text.hpp"

namespace tandem {

std::string MemoryRoom::text() const {
  return format_bytes(bytes) + " are available (" +
         (is_of_group ? "limit of the control group" : "memory of the host") + ")";
}

std::optional<MemoryRoom> memory_room(const std::string& root) {
  const std::string host = read_kernel_file(root + "/proc/meminfo").value_or("");
  const std::uint64_t swap = field_of(host, "SwapFree").value_or(0);
  const auto of_host = field_of(host, "MemAvailable");
  const auto of_group = Cgroup(root).memory_room(swap);
  if (of_group && (!of_host || *of_group < *of_host + swap)) return MemoryRoom{*of_group, true};
  if (!of_host) return std::nullopt;
  return MemoryRoom{*of_host + swap, false};
}

}  // namespace tandem
