// Networks by name. A new network is a line in registry.cpp. Throws UsageError for an unknown name
// or a shape that the network cannot take.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/model/convolution_choice.hpp"
#include "tandem/model/hidden_widths.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/network_names.hpp"
#include "tandem/model/stem.hpp"

namespace tandem::model {

// With PyTorch's default initialization, drawn from torch's generator (seed it with
// torch::manual_seed), in training mode, on the CPU, float. Only `mlp` accepts `widths` that are
// not empty, and only has_stem() networks a stem other than the default.
NetworkPtr make_network(const std::string& name, InputShape shape, std::int64_t classes,
                        const HiddenWidths& widths = {}, Stem stem = Stem::kCifar);

// Sets how all convolutions of the network are computed in training; the default is direct.
// Evaluation and TorchScript networks are always direct.
void choose_convolution(Network& network, ConvolutionChoice choice);

}  // namespace tandem::model
