// tandem train --plan: the size and predicted duration of a run, without training. Main thread.
// Throws what training steps throw; IoError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan_options.hpp"
#include "memory_plan.hpp"
#include "session/job.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/forecast.hpp"
#include "tandem/train/step_windows.hpp"

namespace tandem::app {

// The most steps that a plan takes from the batches.
constexpr std::uint64_t kPlanSteps = train::kMaxWindowedSteps + train::kForecastSteps;

struct PlannedRun {
  const train::TrainConfig& config;
  const train::BatchArithmetic& arithmetic;
  const data::TrainingPlan& steps;
  std::uint64_t image_count;                   // of an epoch
  std::string exchange;                        // as the banner describes it
  std::string algorithm;                       // of sums: "flat", "two-level", "mpi"
  std::size_t gradient_bytes;                  // that a step sums over all ranks, as they travel
  std::optional<PlanTarget> target;            // hosts to predict for, which are not started
  std::optional<DataMemory> data_memory = {};  // of ranks on CPUs
  StateMemory state_memory = {};
};

// Collective. Measures with `context` and prints on rank 0. The batches of `context` must last for
// kPlanSteps steps.
void print_plan(Job& job, const PlannedRun& run, const train::ForecastContext& context, bool json);

// Images of `steps` steps; the last one of an epoch may be short.
std::uint64_t images_of_steps(const train::TrainConfig& config,
                              const train::BatchArithmetic& arithmetic, std::uint64_t image_count,
                              std::uint64_t steps);

// The rates from the slowest to the fastest measured window.
struct Range {
  double low = 0;
  double high = 0;
};

// The median of `values`. `range` becomes their minimum and maximum, and at least kRunSpread of the
// median to both sides: repeated runs of a command differ by that much.
constexpr double kRunSpread = 0.05;
double median_and_range(std::vector<double> values, Range& range);

// Positive numbers with two digits, rounded outward: "5,400 to 5,600".
std::string format_range(const Range& range);

// The model's answer for another number of ranks with as many images each, over links of the same
// kind.
struct ScalingProjection {
  int ranks = 0;
  double doubling = 0;  // images/s where rounds grow as log2(ranks)
  double ring = 0;      // where they grow as the ranks
};

// With hierarchical all-reduces the number of hosts grows.
std::vector<ScalingProjection> project_scaling(const train::Forecast& forecast,
                                               std::uint64_t global_batch, int ranks, int hosts,
                                               bool two_levels);

}  // namespace tandem::app
