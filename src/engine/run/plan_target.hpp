// tandem train --plan --hosts: the speed of a run on hosts that are not started, from the step of
// ranks of one host and the messages of the all-reduce that would run. Main thread.
#pragma once

#include <string>

#include "plan.hpp"
#include "tandem/comm/allreduce/traffic.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

struct TargetPlan {
  PlanTarget target;
  train::BatchArithmetic arithmetic;  // of its ranks
  std::uint64_t image_count = 0;      // of an epoch
  comm::Traffic traffic;              // of all gradients of a step
  double gradient_bytes = 0;          // as they travel between hosts
  bool has_measured_sums = true;      // else one rank was started, and links alone take time
  std::uint32_t tcp_segment = 0;      // bytes, of the measured messages; 0: not by TCP
  // Seconds of a step: of the mean rank; more of the slowest one; not hidden by backward; and in
  // which ranks agree whether to go on.
  double compute = 0;
  double slowest = 0;
  double exchange = 0;
  double agreement = 0;

  double step() const { return compute + slowest + exchange + agreement; }
  // Without the agreement, as summary.json counts.
  double images_per_second() const {
    return static_cast<double>(arithmetic.global_batch) / (step() - agreement);
  }
  // Of all steps. The last step of an epoch may have fewer images.
  double seconds(const train::TrainConfig& config) const {
    const std::uint64_t steps = arithmetic.total_steps;
    const std::uint64_t images = images_of_steps(config, arithmetic, image_count, steps);
    return static_cast<double>(images) / images_per_second() +
           static_cast<double>(steps) * agreement;
  }
  // Compared with ranks that exchange nothing.
  double efficiency() const { return compute / step(); }
};

// Collective. Throws AgreedError (2) if the target cannot be predicted from the ranks of this job.
void require_target(Job& job, const PlannedRun& run, const train::ForecastContext& context);

// What the ranks of this host measured.
struct LocalTimes {
  int ranks = 1;
  train::StepWindows windows;
  train::Forecast forecast;
  train::AlphaBetaCost messages;  // a sum among them by messages, as if each was on its own host
  comm::Traffic traffic;          // of that sum for all gradients; none of one rank
  bool can_overlap = true;        // messages are sent while backward runs
};

// Collective. Also times messages among these ranks.
TargetPlan plan_target(Job& job, const PlannedRun& run, const train::ForecastContext& context,
                       const train::StepWindows& windows, const train::Forecast& forecast);

// Pure: the seconds of `plan`, whose other members are set.
TargetPlan predict_target(TargetPlan plan, const LocalTimes& times);

Json target_to_json(const TargetPlan& plan, const train::TrainConfig& config);
std::string target_to_text(const TargetPlan& plan, const train::TrainConfig& config);

}  // namespace tandem::app
