// What: the training loop: forward, backward, exchange, update, report.
// Owns: nothing; its parts must outlive it. Threads: one, the same on every rank.
// Throws: what its parts throw, with the step in front; AgreedError (70) on every rank where the
// gradient is not finite; InternalError where an epoch's images were not used exactly once.
//
// It knows nothing of MPI, HDF5 or files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "tandem/comm/communicator.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/objective.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/schedule.hpp"

namespace tandem::train {

struct TrainerParts {
  comm::Communicator& comm;
  model::Network& network;
  ParameterArena& arena;
  Reducer& reducer;
  Optimizer& optimizer;
  const Schedule& schedule;
  data::BatchLoader& loader;             // gives plan.accumulate batches a step
  std::function<Evaluation()> evaluate;  // collective
  metrics::Sinks& sinks;                 // empty but on rank 0
};

struct TrainerSettings {
  data::TrainingPlan plan;
  data::ImageShape shape;
  data::Layout layout = data::Layout::kChannelsLast;
  model::Precision precision = model::Precision::kFp32;
  double label_smoothing = 0;
  double clip_norm = 0;          // 0: no limit
  std::uint64_t eval_every = 1;  // epochs; 0: never
  std::uint64_t log_every = 10;  // steps; 0: never
};

// Complete on rank 0 alone.
struct TrainResult {
  std::uint64_t steps = 0;
  double epochs = 0;
  std::uint64_t images_seen = 0;
  double train_seconds = 0;     // steps only: data, forward, backward, exchange, update
  double data_seconds = 0;      // of these, waiting for the loader
  double exchange_seconds = 0;  // of these, exchange that backward did not hide
  double evaluation_seconds = 0;
  double images_per_second = 0;  // without the first five steps where there are at least ten
  double train_loss = 0;         // mean over the last epoch, or what was run of it
  std::optional<Evaluation> last_evaluation;
};

class Trainer {
 public:
  Trainer(TrainerParts parts, TrainerSettings settings);

  // Collective. Trains for settings.plan.steps steps.
  TrainResult run();

 private:
  Totals train_step(std::uint64_t step);
  Totals forward_backward(const data::Batch& batch);
  data::Batch next_batch();
  void require_finite_gradients(std::uint64_t step) const;
  void clip_gradients();
  void log_step(std::uint64_t step, Totals totals);
  void finish_epoch(std::uint64_t step);
  void run_evaluation(std::uint64_t step);
  Totals reduce(Totals totals);
  double epochs_after(std::uint64_t step) const;
  void count_time(std::uint64_t step, double seconds);

  TrainerParts parts_;
  const TrainerSettings settings_;

  Totals epoch_totals_;  // of this rank
  double epoch_seconds_ = 0;
  TrainResult result_;
  // Since the last record, and after the first steps: what the two rates are made of.
  double log_seconds_ = 0;
  std::uint64_t log_images_ = 0;
  double steady_seconds_ = 0;
  std::uint64_t steady_images_ = 0;
};

}  // namespace tandem::train
