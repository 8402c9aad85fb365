// The network that a run trains, from the registry or from a file, with its initial weights. Main
// thread. Throws AgreedError on every rank.
#pragma once

#include <string>

#include "run_inputs.hpp"
#include "session/job.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::app {

// Collective. The file that --model names, on every rank; only rank 0 reads it. A resumed run gets
// the bytes of its own copy, and the digest of the named file for require_same_run(), or of the
// copy if the file is gone.
NetworkFile read_network_together(Job& job, const RunStart& start, const std::string& model);

struct InitialNetwork {
  model::NetworkPtr network;
  std::string taken;  // on rank 0: a sentence on the tensors taken from --init-from; or empty
};
// Collective. The network, with frozen parameters. In a new run, rank 0's has the weights of
// --init-from, or those that are computed from training images.
InitialNetwork make_network_together(Job& job, const RunStart& start,
                                     const train::TrainConfig& config, const RunInputs& inputs,
                                     torch::Device device);

// Collective. The checkpoint's weights, buffers and optimizer on every rank.
void restore_state(Job& job, const RunStart& start, model::Network& network,
                   train::ParameterArena& arena, train::Optimizer& optimizer);

}  // namespace tandem::app
