// The progress of a run as one line, fitted to the width of a terminal or complete for a log, and
// one line per rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

struct ProgressView {
  std::uint64_t step = 0;  // done
  std::uint64_t total_steps = 0;
  double epoch = 0;  // done, with its fraction
  double total_epochs = 0;
  std::optional<StepRecord> latest =
      std::nullopt;  // loss, accuracy, images/s and ranks come from it
  double seconds_left = 0;
  std::string activity = {};  // "evaluation"; empty: steps
};

// At most `width` columns of ASCII:
//   epoch 3/10 [#####-----]  50 %  loss 1.2345  accuracy 0.5678  12,345 images/s  1:02 left  …
// The bar is that of the epoch. Where it is narrow, words are shortened and then left out, the
// slowest rank first, the epoch last. `colors`: with ANSI attributes, which take no column.
std::string fit_progress(const ProgressView& view, std::size_t width, bool colors = false);

// The same, with the step and without a bar.
std::string progress_in_log(const ProgressView& view);

// "epoch 3/10", counting the current one.
std::string epoch_text(double epoch, double total_epochs);
// A diverged network, or skipped steps only, have no loss.
std::string loss_text(double loss);

// "  loss 1.2345  1,234 images/s  52.0 ms/step: data 1.0, compute 40.5, exchange 10.2"
std::string rank_text(const RankRecord& rank);

}  // namespace tandem::metrics
