// evaluation.json, the results of the last evaluation of the test images, and whether a resumed run
// must still make that evaluation. Main thread.
#pragma once

#include <cstdint>

#include "job.hpp"
#include "run_start.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/image_store.hpp"

namespace tandem::app {

// On rank 0. Durable on return. Warns if the file cannot be written.
void keep_evaluation(const metrics::RunFolder& folder, const train::Evaluation& evaluation,
                     const train::ImageStore& images);

// Collective. For a run that has done all steps but is not complete: makes its last evaluation due
// again if any result is missing. That is so if the run was killed before it wrote them, was
// shortened, or now asks for test-time augmentation (`views`).
void owe_last_evaluation(Job& job, RunStart& start, const train::TrainConfig& config,
                         std::uint64_t total_steps, bool views);

}  // namespace tandem::app
