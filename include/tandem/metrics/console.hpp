// What: the run as a person sees it: on a terminal one line redrawn in place, in a pipe or a log
// plain lines at least every ten seconds; on request a line for each rank. Owns: a thread.
// Threads: the sink's functions one at a time; its own thread writes while they don't.
// Throws: nothing; where standard output cannot be written, one warning says so.
//
// All of it comes from rank 0, in one write a line and, but for the live line where standard output
// is a file, to one stream: launchers carry the streams of the ranks in pieces, and lines that come
// from several of them tear each other.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tandem/metrics/progress_line.hpp"
#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

enum class ProgressStyle { kQuiet, kNone, kLines, kLive };

// What rank 0 does at this moment.
struct Position {
  std::uint64_t step = 0;  // done
  std::string activity;    // "evaluation"; empty: steps
};

struct ConsoleSettings {
  // kQuiet: warnings alone. Else epoch and evaluation lines go to standard output; kLive redraws a
  // line of the shared terminal (core/live_line.hpp), kLines adds it plainly.
  ProgressStyle progress = ProgressStyle::kLines;
  double total_epochs = 0;
  std::uint64_t total_steps = 0;
  std::uint64_t steps_per_epoch = 1;
  std::vector<std::string> hosts;    // by rank
  std::vector<std::string> devices;  // by rank: "gpu0", "cpu"
  std::vector<int> log_ranks = {};   // that get lines of their own
  // Called from the sink's thread.
  std::function<Position()> position;
  std::function<std::size_t()> columns = nullptr;  // of the terminal, now; for kLive
  bool colours = false;
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
  // These three with the mutex held.
  void refresh(Clock::time_point now);
  ProgressView view(Clock::time_point now) const;
  void print_ranks(const std::string& what, const std::vector<RankRecord>& ranks);
  std::unique_lock<std::mutex> begin();

  const ConsoleSettings settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::exception_ptr failure_;  // of the thread
  std::optional<StepRecord> latest_;
  Clock::time_point latest_at_;
  Clock::time_point last_line_;
  std::thread thread_;
};

}  // namespace tandem::metrics
