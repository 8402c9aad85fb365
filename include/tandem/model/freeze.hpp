// Parameters that are not trained, for fine-tuning. Throws UsageError.
#pragma once

#include <string>
#include <vector>

#include "tandem/model/network.hpp"

namespace tandem::model {

// The network has parameters that fit each of these shell patterns, such as "layer1.*". `option`
// begins the message if it has not.
void require_fitting(const Network& network, const std::vector<std::string>& patterns,
                     const std::string& option);

// Freezes the parameters that fit one of the patterns: they require no gradient. Batch
// normalization all of whose parameters are frozen computes with its running statistics and keeps
// them, as in evaluation. One parameter at least must be left. `network` is one of tandem's own and
// in no arena.
void freeze(Network& network, const std::vector<std::string>& patterns);

}  // namespace tandem::model
