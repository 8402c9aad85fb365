// What: the run as a person sees it: on a terminal one line redrawn in place, in a pipe or a log
// plain lines. Owns: nothing. Threads: one at a time. Throws: nothing.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

// "epoch 3/10 [########----------------]  34 %  loss 1.2345  accuracy 0.5678  12,345 images/s  …"
std::string progress_line(const StepRecord& record, double total_epochs);

enum class Progress { kQuiet, kNone, kLines, kLive };

class ConsoleSink final : public Sink {
 public:
  // kQuiet: warnings alone. Else epoch and evaluation lines go to standard output, and on standard
  // error kLive redraws the progress line, and kLines adds it plainly at least every ten seconds.
  // `hosts`: by rank.
  ConsoleSink(double total_epochs, Progress progress, std::vector<std::string> hosts);
  ~ConsoleSink() override;

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;
  void on_note(const NoteRecord& record) override;

 private:
  void erase_progress();

  const double total_epochs_;
  const Progress progress_;
  const std::vector<std::string> hosts_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_line_;
};

}  // namespace tandem::metrics
