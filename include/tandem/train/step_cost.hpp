// How long the phases of a step took, or would take.
#pragma once

#include <cstdint>

namespace tandem::train {

// The first steps of a run also allocate memory, so no rate counts them.
constexpr std::uint64_t kUntimedSteps = 5;

// Seconds of the phases of a step on one rank.
struct StepCost {
  double data = 0;  // waiting for batches
  double forward = 0;
  double backward = 0;
  double exchange = 0;  // not hidden by backward
  double update = 0;
  double whole() const { return data + forward + backward + exchange + update; }
  StepCost& operator+=(const StepCost& other) {
    data += other.data;
    forward += other.forward;
    backward += other.backward;
    exchange += other.exchange;
    update += other.update;
    return *this;
  }
};

}  // namespace tandem::train
