// Whether a GPU's metrics can be read, for a check before a run. One thread at a time. Does not
// throw.
#pragma once

#include <string>

namespace tandem::metrics {

// Why NVIDIA's management library cannot read the GPU with this PCI bus id (in CUDA's form); empty
// if it can.
std::string why_gpu_is_silent(const std::string& pci_bus_id);

}  // namespace tandem::metrics
