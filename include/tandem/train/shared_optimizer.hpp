// An optimizer for ranks on CPUs that share one copy of the weights on each host
// (ParameterArena::share_values()). They share one copy of its state, too, and each rank updates
// its parts of both: stage 1 of ZeRO, within a host (Rajbhandari et al., "ZeRO: Memory
// Optimizations Toward Training Trillion Parameter Models", SC 2020). Bits are those of the
// optimizer of the same options. Make the same calls on all ranks; step() and the factory are
// collective.
//
// No other copy on the host tells whether a bit has flipped. So each rank keeps a checksum of its
// parts since their last update, and compares it before the next one and in find_foreign_write().
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tandem/train/optimizer.hpp"
#include "tandem/train/optimizer_options.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// How many arrays of state an optimizer has. comm::HostArrays needs one more, for the weights.
std::size_t state_array_count(const OptimizerOptions& options);

// The current values of `arena`, which shares them and must outlive the result, are the first
// state. `peak` and `early`: as for make_muon(). step() requires that all ranks of the host have
// ended backward, as they have after an exchange of gradients. If another caller writes the weights
// or the state, set_steps() accepts them.
std::unique_ptr<Optimizer> make_shared_optimizer(const OptimizerOptions& options,
                                                 ParameterArena& arena, double peak,
                                                 const std::vector<std::string>& early);

}  // namespace tandem::train
