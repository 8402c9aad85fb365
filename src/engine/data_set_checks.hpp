// Whether a data set, as it was opened, suits the run. Main thread.
#pragma once

#include <cstdint>
#include <string>

#include "session/job.hpp"
#include "tandem/train/image_store.hpp"

namespace tandem::app {

// Warns on rank 0 about the data set at `path`: no seal, no shared copy.
void warn_of_data_set(const Job& job, const std::string& path, const train::ImageStore& images);

// Collective. Warns on rank 0 if the cache of a rank is too small for the pictures of its lanes.
// The rank then reads blocks of the file more than once an epoch. `lanes`: null if none are used.
// `batch`: images of a micro-batch.
void warn_of_cache(Job& job, const train::ImageStore& images, const data::LaneOrder* lanes,
                   std::uint64_t batch);

// UsageError for a set that --tta cannot evaluate.
void require_fit_for_views(const data::DatasetInfo& info);

}  // namespace tandem::app
