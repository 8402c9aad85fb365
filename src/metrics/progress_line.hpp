// The progress of a run as one line, fitted to the width of a terminal or to a log, and the lines
// of an epoch, of an evaluation and of a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

// Lines that are not redrawn fit this many columns, unless a number is very long.
inline constexpr std::size_t kLineColumns = 80;

struct ProgressView {
  std::uint64_t step = 0;  // done
  std::uint64_t total_steps = 0;
  double epoch = 0;         // done, with its fraction
  double total_epochs = 0;  // of all steps, with its fraction
  // Loss, accuracy and images/s come from it.
  std::optional<StepRecord> latest = std::nullopt;
  std::optional<Straggler> slowest = std::nullopt;
  double seconds_left = 0;
  std::string activity = {};  // "checkpoint"; empty: steps
  // Images of a running evaluation, done and all; 0: there is none.
  std::uint64_t evaluated = 0;
  std::uint64_t to_evaluate = 0;
};

// At most `width` columns of ASCII:
//   epoch 3/10 [#####---]  50 %  loss 1.234  acc 0.567  12,345 images/s  1:02 left  …
//   epoch 3/10 [###-----]  32 %  evaluating 3,200 of 10,000  1:02 left
// The bar shows the epoch, or the evaluation. On a narrow terminal, words are shortened and then
// left out, the slow rank first, the epoch last. `colors`: with ANSI attributes, which take no
// column.
std::string fit_progress(const ProgressView& view, std::size_t width, bool colors = false);

// The same for a log, with the step and without a bar.
std::string progress_in_log(const ProgressView& view);

struct EpochView {
  const EpochRecord& epoch;
  double total_epochs = 0;
  std::uint64_t images_per_epoch = 0;  // 0: unknown
  const EvaluationRecord* evaluation = nullptr;
  bool is_best = false;  // the evaluation
};

// "epoch 3/10  loss 1.570  acc 0.518 | test 0.559 *best | 4,727 images/s  11 s"; of a part of an
// epoch "… | 128 of 50,000 images".
std::string epoch_line(const EpochView& view);
// "test 0.559 *best  loss 1.278  5,590 of 10,000 correct  1.6 s"
std::string evaluation_line(const EvaluationRecord& record, bool is_best);

// "epoch 3/10", counting the current one.
std::string epoch_text(double epoch, double total_epochs);
// "0.4 s", "11 s", from two minutes on "2:05"
std::string seconds_text(double seconds);
// "1.570", "0.0123", "4.4e+21"; a diverged network, or skipped steps only, have no loss.
std::string loss_text(double loss);

// "  loss 1.234  1,234 images/s  52.0 ms/step: data 1.0, compute 40.5, exchange 10.2"
std::string rank_text(const RankRecord& rank);

}  // namespace tandem::metrics
