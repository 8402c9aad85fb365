// Evaluates the test images, or those that --validation-split holds out. All references must
// outlive it. One thread at a time. Throws what train::evaluate throws.
#pragma once

#include <functional>

#include "checkpoint_manager.hpp"
#include "job.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/image_store.hpp"

namespace tandem::app {

class RunEvaluation {
 public:
  // `views`: test-time augmentation, at the end of the run.
  RunEvaluation(Job& job, model::Network& network, const train::ImageStore& images,
                const train::EvaluationSettings& settings, bool views,
                CheckpointManager& checkpoints)
      : job_(job),
        network_(network),
        images_(images),
        settings_(settings),
        views_(views),
        checkpoints_(checkpoints) {}

  // Collective. The checkpoint manager considers the result where no images are held out.
  train::Evaluation test(bool last);
  // Collective. The checkpoint manager considers the result; empty where no images are held out.
  std::function<train::Evaluation()> validation();

 private:
  bool holds_out() const { return !images_.validation().labels.empty(); }

  Job& job_;
  model::Network& network_;
  const train::ImageStore& images_;
  train::EvaluationSettings settings_;
  const bool views_;
  CheckpointManager& checkpoints_;
};

}  // namespace tandem::app
