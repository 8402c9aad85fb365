#include "tandem/metrics/gpu_access.hpp"

#include "nvml.hpp"

namespace tandem::metrics {

std::string why_gpu_is_silent(const std::string& pci_bus_id) {
  std::string why;
  Nvml::open(pci_bus_id, "libnvidia-ml.so.1", &why);
  return why;
}

}  // namespace tandem::metrics
