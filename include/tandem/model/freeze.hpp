// Parameters that are not trained, for fine-tuning. Throws UsageError.
#pragma once

#include <string>
#include <vector>

#include "tandem/model/network.hpp"

namespace tandem::model {

// Requires that each of these shell patterns, such as "layer1.*", fits a parameter of the network.
// `option` begins the message of the error.
void require_fitting(const Network& network, const std::vector<std::string>& patterns,
                     const std::string& option);

// Requires that each pattern fits a parameter that is trained.
void require_trained(const Network& network, const std::vector<std::string>& patterns,
                     const std::string& option);

// Freezes the parameters that fit one of the patterns: they require no gradient. A BatchNorm whose
// parameters are all frozen computes with its running statistics and keeps them, as in evaluation.
// At least one parameter must be left to train. `network` is one of tandem's own. Call this before
// the network's arena is made.
void freeze(Network& network, const std::vector<std::string>& patterns);

}  // namespace tandem::model
