// Parameters for tests of PowerSGD with rank 2: a matrix, a filter, and two that it leaves as they
// are; and gradients for them.
#pragma once

#include "tandem/core/random.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::testing {

struct PowerSgdNet : torch::nn::Module {
  PowerSgdNet() {
    register_parameter("matrix", torch::zeros({24, 50}));
    register_parameter("filter", torch::zeros({16, 3, 5, 5}));
    register_parameter("square", torch::zeros({4, 4}));
    register_parameter("bias", torch::zeros({24}));
  }
};
// (24 + 50 + 16 + 75) * 2 of the matrices, 16 + 24 of the others.
constexpr std::size_t kPowerSgdFloats = 370;

// Of a rank and step; the padding stays 0.
inline void bring_gradients(train::ParameterArena& arena, int rank, std::uint64_t step) {
  for (const train::ParameterArena::Slot& slot : arena.slots()) {
    CounterRandom random{static_cast<std::uint64_t>(rank), step, slot.offset};
    for (float& each : arena.gradients().subspan(slot.offset, slot.count)) {
      each = static_cast<float>(random.normal());
    }
  }
}

}  // namespace tandem::testing
