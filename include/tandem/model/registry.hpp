// What: networks by name, in one table. A new network is a row in registry.cpp.
// Owns: nothing; make_network's caller owns the network. Threads: any.
// Throws: UsageError (a name that is not known, a shape that the network cannot take).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/model/network.hpp"

namespace tandem::model {

// From small to large.
std::vector<std::string> network_names();

// With PyTorch's default initialisation, drawn from torch's generator (seed it with
// torch::manual_seed), in training mode, on the CPU, float.
NetworkPtr make_network(const std::string& name, InputShape shape, std::int64_t classes);

}  // namespace tandem::model
