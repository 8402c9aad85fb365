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
Autocast autocast_on(torch::DeviceType device) {
  return {at::autocast::is_autocast_enabled(device), at::autocast::get_autocast_dtype(device)};
}
void set_autocast_on(torch::DeviceType device, Autocast autocast) {
  at::autocast::set_autocast_enabled(device, autocast.enabled);
  at::autocast::set_autocast_dtype(device, autocast.type);
}
#else
Autocast autocast_on(torch::DeviceType device) {
  if (device == torch::kCPU) {
    return {at::autocast::is_cpu_enabled(), at::autocast::get_autocast_cpu_dtype()};
  }
  return {at::autocast::is_enabled(), at::autocast::get_autocast_gpu_dtype()};
}
void set_autocast_on(torch::DeviceType device, Autocast autocast) {
  if (device == torch::kCPU) {
    at::autocast::set_cpu_enabled(autocast.enabled);
    at::autocast::set_autocast_cpu_dtype(autocast.type);
  } else {
    at::autocast::set_enabled(autocast.enabled);
    at::autocast::set_autocast_gpu_dtype(autocast.type);
  }
}
#endif

}  // namespace tandem::model
