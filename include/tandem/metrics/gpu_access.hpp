// What: whether the metrics of a GPU can be read, for who looks before a run does.
// Owns: nothing. Threads: one at a time. Throws: nothing; that they cannot is an answer.
#pragma once

#include <string>

namespace tandem::metrics {

// Why NVIDIA's management library tells nothing of the GPU with this PCI bus id, as CUDA writes it;
// empty where it does.
std::string why_gpu_is_silent(const std::string& pci_bus_id);

}  // namespace tandem::metrics
