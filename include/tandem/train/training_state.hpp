// The state of a run between two steps, besides its tensors, and its results so far. from_json()
// throws DataError.
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/core/json.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/loss_scale.hpp"
#include "tandem/train/objective.hpp"

namespace tandem::train {

// Complete on rank 0 alone. Over all segments of a run that was resumed.
struct TrainResult {
  std::uint64_t steps = 0;
  double epochs = 0;
  std::uint64_t images_seen = 0;
  double train_seconds = 0;     // steps only: data, forward, backward, exchange, update
  double data_seconds = 0;      // of these, waiting for the loader
  double exchange_seconds = 0;  // of these, exchange that backward did not hide
  double evaluation_seconds = 0;
  double images_per_second = 0;      // without the first five steps of a segment of at least ten
  std::optional<double> train_loss;  // mean over the last epoch, or the part that was run
  std::optional<Evaluation> last_evaluation;  // on the test images
  std::optional<Evaluation> last_validation;  // on those that were held out
  std::uint64_t skipped_steps = 0;            // updates skipped because the gradient was not finite
  bool stopped = false;                       // before the last step, because it was asked to
  bool ended_early = false;                   // before the last step, because nothing improved
};

struct TrainingState {
  std::uint64_t step = 0;       // steps done
  Totals epoch_totals;          // of the epoch that is under way
  double epoch_seconds = 0;     // likewise
  bool evaluation_due = false;  // the evaluation after this step was interrupted
  double steady_seconds = 0;    // what images_per_second is made of
  std::uint64_t steady_images = 0;
  LossScale loss_scale;  // of fp16
  // Of the evaluations by which the best state is chosen; on rank 0, and the number on all ranks
  // where early stopping is asked for.
  std::optional<double> best_accuracy;
  std::uint64_t evaluations_since_best = 0;
  TrainResult result;

  // Counts an evaluation: it is the best if it is better than all before.
  void take_accuracy(double accuracy);
  // Whether a run that stops after `early_stop` evaluations without a better one ends here. 0:
  // never.
  bool ends_early(std::uint64_t early_stop) const;

  Json to_json() const;
  static TrainingState from_json(const Json& json);
};

}  // namespace tandem::train
