// The training loop: steps, records, evaluations and checkpoints. It uses neither MPI, HDF5 nor
// files directly. The members of its context must outlive it. One thread, the same on every rank.
//
// Throws errors of its context with the step number added; AgreedError (70) on every rank if the
// gradient is not finite; InternalError if an epoch's images were not used exactly once.
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/progress.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/metrics/system_sampler.hpp"
#include "tandem/train/checkpoints.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/objective.hpp"
#include "tandem/train/rank_times.hpp"
#include "tandem/train/schedule.hpp"
#include "tandem/train/step_runner.hpp"
#include "tandem/train/training_state.hpp"

namespace tandem::train {

struct TrainerContext {
  comm::Communicator& comm;
  StepContext step;
  const Schedule& schedule;
  Evaluator& evaluator;
  metrics::Sinks& sinks;                     // empty but on rank 0
  Checkpoints* checkpoints = nullptr;        // null: nothing is saved, and the run does not stop
  comm::Progress* progress = nullptr;        // receives each phase; may be null
  metrics::SystemSampler* system = nullptr;  // this rank's; may be null
};

struct TrainerSettings {
  data::TrainingPlan plan;
  StepSettings step;  // without skip_nonfinite a gradient that is not finite ends the run
  std::uint64_t early_steps = 0;  // steps until network.early_parameters() are frozen; 0: never
  std::uint64_t eval_every = 1;   // epochs; 0: never
  std::uint64_t log_every = 10;   // steps; 0: never
  std::uint64_t early_stop = 0;   // evaluations without a better one that end the run; 0: no limit
  bool multi_label = false;       // steps and epochs have no accuracy
};

class Trainer {
 public:
  // Continues from `state`, whose step is the plan's first.
  Trainer(TrainerContext context, TrainerSettings settings, TrainingState state = {});

  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Collective. Trains up to settings.plan.steps steps, or until it is asked to stop.
  TrainResult run();
  // The result so far, also after an exception of run().
  const TrainResult& result() const { return result_; }

 private:
  void freeze_early_parameters();
  void drain();
  void note_skipped(const StepOutcome& outcome);
  void log_step(std::uint64_t step, Totals totals);
  void finish_epoch(std::uint64_t step, bool epoch_ends);
  bool run_evaluation(std::uint64_t step);
  bool evaluate_test(std::uint64_t step);
  void count_accuracy(std::uint64_t step, const Evaluation& evaluation,
                      const std::optional<Evaluation>& before);
  std::optional<double> accuracy_of(const Totals& totals) const;
  void note_early_stop(std::uint64_t step);
  bool ends_early() const { return state_.ends_early(settings_.early_stop); }
  void note_evaluation(std::uint64_t step, const char* images, const Evaluation& evaluation,
                       std::optional<Evaluation>& kept);
  bool stops_here(bool evaluated);
  void enter(comm::Phase phase);
  TrainingState gather_state();
  double epochs_after(std::uint64_t step) const;
  void count_time(std::uint64_t step, const StepCost& phases, double seconds);

  TrainerContext context_;
  const TrainerSettings settings_;

  StepRunner step_;
  TrainingState state_;  // its totals are this rank's
  TrainResult& result_ = state_.result;
  bool has_undrained_ = false;  // a step since the last drain()
  Totals last_;                 // of the last step that was collected
  // Since the last record.
  double log_seconds_ = 0;
  std::uint64_t log_images_ = 0;
  RankTimes log_times_;
  RankTimes epoch_times_;
  std::optional<double> gradient_norm_;  // of the last step collected
};

}  // namespace tandem::train
