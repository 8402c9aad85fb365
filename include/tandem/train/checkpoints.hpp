// The decision of a trainer between steps: go on, save its state, or save it and stop.
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
  // Collective, after `step` steps. If an evaluation follows, call it before the evaluation and
  // again after it, then with `evaluated` true.
  virtual Boundary decide(std::uint64_t step, bool evaluated) = 0;
  // Collective. The state is complete on rank 0 alone.
  virtual void save(const TrainingState& state) = 0;
  // Takes the evaluation by which the best state is chosen. Call it before the next decide().
  virtual void offer_as_best(const Evaluation& evaluation) = 0;
  // Makes the next decide() save. Only rank 0's request counts.
  virtual void ask_to_save() = 0;
  // Rank 0: writes an evaluation of the test images. It is durable on return.
  virtual void write_evaluation(const Evaluation& evaluation) = 0;
};

}  // namespace tandem::train
