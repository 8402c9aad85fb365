// evaluation.json, which holds what the last evaluation of the test images found, and whether a run
// that goes on still owes one. Module-private. Threads: the main thread.
#pragma once

#include <cstdint>

#include "run_start.hpp"
#include "tandem/app/job.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/image_store.hpp"

namespace tandem::app {

// On rank 0. Durable when it returns; a file that cannot be written is a warning.
void keep_evaluation(const metrics::RunFolder& folder, const train::Evaluation& evaluation,
                     const train::ImageStore& images);

// Collective. Makes the last evaluation of a run that is at its end, but not complete, due again
// where any of its results is missing: the run was killed before they were written, was shortened,
// or now asks for test-time augmentation (`views`).
void owe_last_evaluation(Job& job, RunStart& start, const train::TrainConfig& config,
                         std::uint64_t total_steps, bool views);

}  // namespace tandem::app
