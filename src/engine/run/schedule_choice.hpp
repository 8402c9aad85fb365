// The length of the learning-rate schedule of a run. A resumed run keeps its length, so that
// another duration does not change the schedule. Main thread.
#pragma once

#include <cstdint>
#include <string>

#include "run_start.hpp"
#include "session/engine.hpp"
#include "session/job.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

struct ScheduleChoice {
  std::uint64_t steps = 0;
  std::string note;  // on rank 0, for people; empty if the duration is that of the schedule
};

// The request of this start.
struct ScheduleRequest {
  const train::TrainConfig& config;
  const train::BatchArithmetic& arithmetic;
  std::uint64_t image_count;
  bool is_new;             // --new-schedule
  std::string go_on;       // the command that resumes the run
  std::string begin_anew;  // the command that begins another run with the checkpoint's weights
};

// Collective. Throws AgreedError (2) on every rank if the run would go on with a learning rate of 0
// because its schedule is over.
ScheduleChoice choose_schedule_together(Job& job, const RunRequest& run, const RunStart& start,
                                        const train::BatchArithmetic& arithmetic,
                                        std::uint64_t image_count);
// Rank 0's part for a run that resumes; throws UsageError.
ScheduleChoice choose_schedule(const RunStart& start, const ScheduleRequest& request);

}  // namespace tandem::app
