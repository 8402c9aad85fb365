// What: networks from TorchScript files, which Python writes by torch.jit.script(network).save().
// Owns: nothing; the caller owns the network. Threads: one at a time. Throws: DataError where a
// file holds no network that can be trained here.
//
// TorchScript is code and does what this process may do: who names a file, or a run folder or model
// with one in or beside it, trusts where it is from.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/model/network.hpp"

namespace tandem::model {

// Whether --model names a file rather than a network of the registry: it ends in .pt or has a '/'.
bool is_script_file(const std::string& model);

// The network in `bytes`, which are the content of the file `name`, with the weights that are in
// it, on `device`, in training mode. Parameters that require no gradient stay as they are and count
// as buffers. It has passed a trial: forward and backward of two images of the mean colour, and
// forward in evaluation. TorchScript's profiling is off from then on, in the whole process, so that
// what a call computes does not depend on how many there were before.
NetworkPtr make_script_network(const std::string& name, const std::string& bytes, InputShape shape,
                               std::int64_t classes, torch::Device device = torch::kCPU);

// What is odd about such a network, for a warning; empty: nothing.
std::string script_warning(const Network& network);

// A file's bytes: the module of such a network, which is in no arena, with the weights that it has
// now, in evaluation mode.
std::string to_script(const Network& network);

}  // namespace tandem::model
