// Applies a run's checkpoint options: when to save, when to compare the ranks, and when to stop.
// The objects of its context must outlive it. Make the same calls on every rank, on the main
// thread. Throws what train/checkpointer.hpp and train/drift_check.hpp throw.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tandem/metrics/run_folder.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/train/boundary_policy.hpp"
#include "tandem/train/checkpoint_rules.hpp"
#include "tandem/train/checkpointer.hpp"
#include "tandem/train/checkpoints.hpp"
#include "tandem/train/image_store.hpp"

namespace tandem::train {

class CheckpointManager final : public Checkpoints {
 public:
  struct Output {
    const metrics::RunFolder* folder;  // on rank 0; elsewhere null
    const ImageStore* images;          // evaluation.json holds the worst of them
    data::Fit fit;                     // of picture files in evaluations
    metrics::Sinks& sinks;
    Touch touch;  // called while this rank waits for a write that advances
  };
  // What an earlier start of the run left in the folder.
  struct Earlier {
    std::optional<double> best_accuracy;   // of best.safetensors, on rank 0
    std::optional<TrainingState> durable;  // the state that this start resumes from
  };

  CheckpointManager(const Checkpointer::Context& context, const CheckpointPolicy& checkpoint_policy,
                    const BoundaryRules& rules, std::map<std::string, std::string> metadata,
                    const Output& output, const Earlier& earlier = {});
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  Boundary decide(std::uint64_t step, bool evaluated) override;
  // As BoundaryPolicy::must_stop_within(): for this rank; if true, the next decision is to stop.
  bool must_stop_within(double seconds) { return policy_.must_stop_within(seconds); }
  // Collective. If an evaluation follows, the state is durable on return; otherwise the write runs
  // in the background.
  void save(const TrainingState& state) override;
  // Has the state saved at the next decision if it is the best one and --save-best asks for it.
  void offer_as_best(const Evaluation& evaluation) override;
  void ask_to_save() override;
  // Writes evaluation.json. Warns if it cannot be written.
  void write_evaluation(const Evaluation& evaluation) override;
  // Waits for the last checkpoint; on rank 0 why it could not be written, or nothing.
  std::string finish() { return checkpointer_.finish(); }

 private:
  void note(const char* event, std::uint64_t step, const std::string& text);

  Checkpointer::Context context_;
  const CheckpointPolicy checkpoint_policy_;
  const std::uint64_t steps_per_epoch_;
  const metrics::RunFolder* const folder_;
  const ImageStore* const images_;
  const data::Fit fit_;
  metrics::Sinks& sinks_;
  std::optional<double> kept_accuracy_;  // of best.safetensors
  std::optional<double> best_accuracy_;  // of that, or of the state that will replace it
  BoundaryPolicy policy_;
  Checkpointer checkpointer_;
};

}  // namespace tandem::train
