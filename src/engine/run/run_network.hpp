// The network that a run trains, from the registry or from a file, with its initial weights. Main
// thread. Throws AgreedError on every rank.
#pragma once

#include <string>

#include "engine/model/model_file.hpp"
#include "run_start.hpp"
#include "session/job.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/image_store.hpp"
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
// Collective. The network, with frozen parameters; on rank 0 with the weights that --init-from
// names, unless the run goes on with those of a checkpoint.
InitialNetwork make_network_together(Job& job, const RunStart& start,
                                     const train::TrainConfig& config,
                                     const ModelDescription& description, const NetworkFile& file,
                                     torch::Device device);

// Collective. Computes on rank 0 the weights that depend on training images, unless the run resumes
// or has --init-from.
void init_network_from_data(Job& job, const RunStart& start, const train::TrainConfig& config,
                            const train::ImageStore& images, model::Network& network);

// Collective. The checkpoint's weights, buffers and optimizer on every rank.
void restore_state(Job& job, const RunStart& start, model::Network& network,
                   train::ParameterArena& arena, train::Optimizer& optimizer);

}  // namespace tandem::app
