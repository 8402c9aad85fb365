#include "tandem/model/torch_compat.hpp"

#include <ATen/Version.h>
#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace tandem::model {

std::string torch_version() {
  // The header's TORCH_VERSION is that of the build; the library has no function for its own, but
  // lists it here.
  const std::string settings = at::show_config();
  const std::string key = "TORCH_VERSION=";
  const std::size_t at = settings.find(key);
  if (at == std::string::npos) return TORCH_VERSION;
  const std::size_t begin = at + key.size();
  return settings.substr(begin, settings.find_first_of(", \n", begin) - begin);
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool cpu_autocast_enabled() { return at::autocast::is_autocast_enabled(at::kCPU); }
void set_cpu_autocast_enabled(bool enabled) {
  at::autocast::set_autocast_enabled(at::kCPU, enabled);
}
#else
bool cpu_autocast_enabled() { return at::autocast::is_cpu_enabled(); }
void set_cpu_autocast_enabled(bool enabled) { at::autocast::set_cpu_enabled(enabled); }
#endif

}  // namespace tandem::model
