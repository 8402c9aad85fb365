// What: the run as a person sees it: on a terminal one line redrawn in place, in a pipe or a log
// plain lines. Owns: nothing. Threads: one at a time. Throws: nothing.
#pragma once

#include <chrono>
#include <string>

#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

// "epoch  3/10 [########----------------]  34 %  loss 1.234  accuracy 0.5678  12,345 images/s  0:42
// left"
std::string progress_line(const StepRecord& record, double total_epochs);

class ConsoleSink final : public Sink {
 public:
  // Epoch and evaluation lines go to standard output; `live` draws the progress line on standard
  // error, otherwise a plain step line appears there at least every ten seconds.
  ConsoleSink(double total_epochs, bool live);
  ~ConsoleSink() override;

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;

 private:
  void erase_progress();

  const double total_epochs_;
  const bool live_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_line_;
};

}  // namespace tandem::metrics
