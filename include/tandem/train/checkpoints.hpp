// What a trainer does between steps about its state: nothing, save it, or save it and stop.
#pragma once

#include <cstdint>

#include "tandem/train/evaluator.hpp"
#include "tandem/train/training_state.hpp"

namespace tandem::train {

// The same on every rank.
enum class Boundary { kGoOn, kSave, kSaveAndStop };

// Implemented by CheckpointManager. Make the same calls on every rank.
class Checkpoints {
 public:
  virtual ~Checkpoints() = default;
  // Collective, after `step` steps. At a step with an evaluation it is called before that and, with
  // `evaluated`, again after it.
  virtual Boundary decide(std::uint64_t step, bool evaluated) = 0;
  // Collective. The state is complete on rank 0 alone.
  virtual void save(const TrainingState& state) = 0;
  // The evaluation that tells which state is the best, before the next decide().
  virtual void consider(const Evaluation& evaluation) = 0;
  // On rank 0: each evaluation of the test images. Durable on return.
  virtual void keep(const Evaluation& evaluation) = 0;
};

}  // namespace tandem::train
