// The records of a run, reduced over ranks, and the interface of their consumers. Only rank 0 has
// sinks; they are called on the thread of the training loop. Accuracies are fractions in [0, 1],
// times are seconds. A sink that cannot write warns once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/metrics/straggler.hpp"

namespace tandem::metrics {

struct StepRecord {
  std::uint64_t step = 0;          // 1 is the first
  double epoch = 0;                // epochs done after this step
  double loss = 0;                 // mean over the global batch
  std::optional<double> accuracy;  // not of a multi-label set
  double learning_rate = 0;
  std::optional<double> gradient_norm;  // before it was limited; where it was finite
  double images_per_second = 0;         // since the last record
  double seconds_left = 0;              // of training, without evaluation
  std::vector<RankRecord> ranks;        // by rank, since the last record
};

struct EpochRecord {
  std::uint64_t step = 0;
  double epoch = 0;
  std::uint64_t images = 0;        // trained on in this epoch
  double loss = 0;                 // mean over these images
  std::optional<double> accuracy;  // not of a multi-label set
  double train_seconds = 0;
  std::vector<RankRecord> ranks;  // by rank, over the epoch, as far as this start of the run ran it
  bool is_evaluated = false;      // evaluations follow, unless the run stops first
};

struct EvaluationRecord {
  std::uint64_t step = 0;
  double epoch = 0;
  std::string of = "test";  // or "validation": the images
  double loss = 0;
  double accuracy = 0;
  std::uint64_t correct = 0;
  std::uint64_t images = 0;
  double seconds = 0;
  std::optional<double> views_accuracy{};  // with test-time augmentation, where it was asked for
  std::optional<double> top5_accuracy{};   // with six classes or more
  // Only for a multi-label set, in place of accuracy and correct answers.
  std::optional<double> mean_average_precision{};

  // The value that ranks evaluations, and the end of its name in metrics.jsonl and summary.json.
  double score() const { return mean_average_precision.value_or(accuracy); }
  const char* score_name() const { return mean_average_precision ? "map" : "accuracy"; }
};

// Other lines of metrics.jsonl.
struct NoteRecord {
  std::string event;  // "checkpoint", "resume", "early_stop", "warning"
  std::uint64_t step = 0;
  double epoch = 0;
  std::string text;
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_step(const StepRecord& record) = 0;
  virtual void on_epoch(const EpochRecord& record) = 0;
  virtual void on_evaluation(const EvaluationRecord& record) = 0;
  virtual void on_note(const NoteRecord& record) = 0;
  // Makes everything written before the call durable. May run on another thread while the sink is
  // written to. A failure is one warning: a checkpoint must not fail because of metrics.
  virtual void sync() {}
  // The run is complete: neither stopped nor failed. Nothing comes after it.
  virtual void finish() {}
};

// Reports to the user a failure that does not end the run. A thread that uses the owner calls it.
using Warn = std::function<void(const std::string& message)>;

using Sinks = std::vector<std::unique_ptr<Sink>>;

}  // namespace tandem::metrics
