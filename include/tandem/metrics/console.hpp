// The progress of a run for people: a terminal line redrawn in place, or, in a pipe or a log, plain
// lines at least every ten seconds; on request also a line for each rank. Call the sink's functions
// on one thread at a time; a thread of its own writes between the calls. Does not throw; if
// standard output cannot be written, it warns once.
//
// Rank 0 prints everything, each line in one write and to one stream (the live line excepted if
// standard output is a file). Launchers forward the streams of ranks in pieces, so lines from
// several ranks would mix.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

struct ProgressView;

enum class ProgressStyle { kQuiet, kNone, kLines, kLive };

// The current activity of rank 0.
struct Position {
  std::uint64_t step = 0;  // done
  std::string activity;    // "checkpoint"; empty: steps
  // Images of a running evaluation, done and all; 0: there is none.
  std::uint64_t evaluated = 0;
  std::uint64_t to_evaluate = 0;
};

// The highest accuracy, or mean average precision, so far, for the images of the run's first
// evaluation (test or validation).
struct BestEvaluation {
  std::string of;  // "test" or "validation"; empty: none yet
  double accuracy = 0;
  double epoch = 0;

  // Whether this one is higher than all before, which it then replaces.
  bool take(const EvaluationRecord& record);
};

// A mean of all values at first, and later mostly of the last dozen.
class RunningMean {
 public:
  // Begins anew at a value that is not finite, and after it.
  void add(double value);
  double value() const { return mean_; }

 private:
  double mean_ = 0;
  std::uint64_t count_ = 0;
};

struct ConsoleSettings {
  // kQuiet: warnings alone. Else epoch and evaluation lines go to standard output; kLive redraws a
  // line of the shared terminal (core/print.hpp), kLines adds it plainly.
  ProgressStyle progress = ProgressStyle::kLines;
  double total_epochs = 0;  // of all steps, with its fraction
  std::uint64_t total_steps = 0;
  std::uint64_t steps_per_epoch = 1;
  std::uint64_t images_per_epoch = 0;  // 0: unknown
  std::vector<std::string> hosts;      // by rank
  std::vector<std::string> devices;    // by rank: "gpu0", "cpu"
  std::vector<int> log_ranks = {};     // that get lines of their own
  // Called from the sink's thread.
  std::function<Position()> position;
  std::function<std::size_t()> columns = nullptr;  // of the terminal, now; for kLive
  bool colors = false;
  BestEvaluation* best = nullptr;  // so far; updated by the thread that calls the sink
};

class ConsoleSink final : public Sink {
 public:
  explicit ConsoleSink(ConsoleSettings settings);
  ~ConsoleSink() override;

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;
  void on_note(const NoteRecord& record) override;

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  // These require the mutex.
  void refresh(Clock::time_point now);
  ProgressView view(Clock::time_point now) const;
  void print_ranks(const std::string& what, const std::vector<RankRecord>& ranks);
  void print_epoch(const EvaluationRecord* evaluation = nullptr, bool is_best = false);
  std::unique_lock<std::mutex> begin();

  const ConsoleSettings settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::exception_ptr failure_;  // of the thread
  std::optional<StepRecord> latest_;
  Clock::time_point latest_at_;
  // Of the records of steps.
  RunningMean loss_;
  RunningMean accuracy_;
  RunningMean seconds_per_image_;
  StragglerWatch slow_rank_;
  int slow_in_epoch_ = -1;            // the rank that was slow in the last epoch; -1: none
  std::optional<EpochRecord> epoch_;  // whose line waits for its evaluation
  Clock::time_point last_line_;
  std::thread thread_;
};

}  // namespace tandem::metrics
