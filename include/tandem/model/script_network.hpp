// Networks from TorchScript files, which Python writes by torch.jit.script(network).save(). One
// thread at a time. Throws DataError if the file has no network that can be trained.
//
// TorchScript is code that runs with this process's rights. Load only files, run folders and models
// from a source that you trust.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/model/network.hpp"
#include "tandem/model/network_names.hpp"

namespace tandem::model {

// The network in `bytes`, which are the content of the file `name`, with the weights that are in
// it, on `device`, where it stays, in training mode. Parameters that require no gradient stay as
// they are and count as buffers. It has passed a trial: forward and backward of two images of the
// mean color, and forward in evaluation. TorchScript's profiling is off from then on, in the whole
// process, so that what a call computes does not depend on how many there were before.
NetworkPtr make_script_network(const std::string& name, const std::string& bytes, InputShape shape,
                               std::int64_t classes, torch::Device device = torch::kCPU);

// A warning about unusual behavior of such a network; empty: none.
std::string script_warning(const Network& network);

// The bytes of a file with the module of such a network (not in an arena) and its current weights,
// in evaluation mode.
std::string to_script(const Network& network);

}  // namespace tandem::model
