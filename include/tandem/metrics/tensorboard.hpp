// Writes a run's event file for TensorBoard: scalars, hyper-parameters, texts, images and
// histograms of weights, without TensorFlow or Protocol Buffers (docs/formats.md). One thread at a
// time. The constructor throws CannotCreateError; a record that cannot be written later is dropped
// with a warning.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

class EventFile;
class Summary;

using HyperParameters =
    std::vector<std::pair<std::string, std::variant<double, bool, std::string>>>;

struct PngImage {
  std::string tag;
  std::string png;
  int channels = 3;  // 1: gray
  int height = 0;
  int width = 0;
};

struct NamedText {
  std::string tag;
  std::string markdown;
};

// The description of a run before its first step; a resumed start writes none.
struct TensorBoardStart {
  HyperParameters parameters;
  std::vector<NamedText> texts;
  std::vector<PngImage> images;
  std::string score = "accuracy";  // name of the score of evaluations, or "map"
};

// Calls its argument with every parameter's name and values.
using TakeWeights = std::function<void(const std::string&, Span<const float>)>;
using VisitWeights = std::function<void(const TakeWeights&)>;

struct TensorBoardSettings {
  std::string folder;  // exists
  std::string run_id;
  std::uint64_t first_step = 0;        // steps that the run has done before this start
  std::uint64_t histograms_every = 0;  // epochs; 0: never
  VisitWeights visit_weights = nullptr;
  Warn warn;  // called once, at the first failure
};

class TensorBoardSink final : public Sink {
 public:
  // `describe` is called on a fresh start (also a retry without a checkpoint) and if there is no
  // event file yet.
  TensorBoardSink(TensorBoardSettings settings, const std::function<TensorBoardStart()>& describe);
  ~TensorBoardSink() override;
  TensorBoardSink(const TensorBoardSink&) = delete;
  TensorBoardSink& operator=(const TensorBoardSink&) = delete;

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;
  void on_note(const NoteRecord& record) override;
  void sync() override;
  void finish() override;

 private:
  void describe_run(const TensorBoardStart& start);
  void add_ranks(const std::vector<RankRecord>& ranks, Summary& summary);
  bool takes_rank(std::size_t rank, double samples, std::uint64_t every);
  void write(const Summary& summary, std::uint64_t step);
  // If the disk is full an event is dropped: metrics must not end training.
  void append(const std::string& event);
  void warn_once(const std::exception& error);

  const TensorBoardSettings settings_;
  std::unique_ptr<EventFile> file_;
  std::vector<double> samples_;  // by rank: the number of the last one that was written
  std::uint64_t steps_ = 0;      // that were reported
  std::uint64_t last_step_;
  std::atomic<bool> has_warned_{false};
  std::atomic<bool> name_is_durable_{false};  // of the file
};

}  // namespace tandem::metrics
