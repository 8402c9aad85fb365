// The manifest of a training run, and its summary and report at the end. Main thread of rank 0.
// Throws IoError.
#pragma once

#include <string>

#include "run_inputs.hpp"
#include "session/rank_table.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/train/trainer.hpp"

namespace tandem::app {

// With the segments of `earlier` (a manifest or null) and `segment`, which is this start.
Json make_manifest(const std::string& run_id, const train::ImageStore& images,
                   const RankTable& ranks, const Json& segment, const Json& earlier);

// The summary of a run that is complete or was stopped.
Json make_summary(const std::string& run_id, const train::TrainResult& result, int world,
                  const std::string& weights_sha256, double startup_seconds);
// The summary of a failed run up to its error.
Json make_failure_summary(const std::string& run_id, const train::TrainResult& result, int world,
                          double startup_seconds, const std::string& error);

// Writes the summary and report.html; a missing page does no harm. The summary of a completed run
// is written last, because it marks completion; otherwise it is written first. `has_error`: an
// error of the run follows, so a page that fails, often for the same reason, gets no warning.
void leave_result(const metrics::RunFolder& folder, const Json& summary, bool has_error);

}  // namespace tandem::app
