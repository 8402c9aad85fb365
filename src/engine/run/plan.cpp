#include "plan.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <optional>

#include "tandem/comm/agree.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr int kCarriedRanks[] = {8, 64, 512, 4096};

// The most that this process has had in memory at a time, what it shares with others included.
double peak_memory() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

struct Plan {
  int ranks = 1;
  int hosts = 1;
  double gradient_bytes = 0;         // of one sum over all ranks, as they travel
  std::optional<double> sent_bytes;  // by each rank; otherwise cut sums send unlike many
  double memory_bytes = 0;           // of the rank that has most
  train::Forecast forecast;
  double images_per_second = 0;
  double seconds = 0;  // of all steps
  std::vector<ScalingProjection> projections;
};

Plan make_plan(Job& job, const PlannedRun& run, const train::ForecastContext& context) {
  Plan plan;
  plan.ranks = job.topology.world;
  plan.hosts = static_cast<int>(
      job.world.all_reduce_value<std::int64_t>(job.topology.local_rank == 0 ? 1 : 0));
  const std::size_t bytes_of_value = run.config.bfloat16_gradients ? 2 : 4;
  plan.gradient_bytes = static_cast<double>(bytes_of_value * context.step.arena.gradients().size());
  const bool is_virtual = run.config.virtual_ranks > 0;
  plan.forecast = train::make_forecast(context);
  plan.memory_bytes = job.world.all_reduce_value(peak_memory(), comm::Reduction::kMax);
  const auto batch = static_cast<double>(run.arithmetic.global_batch);
  plan.images_per_second = batch / plan.forecast.seconds();
  plan.seconds = static_cast<double>(images_of_steps(run.config, run.arithmetic, run.image_count,
                                                     run.arithmetic.total_steps)) /
                 plan.images_per_second;
  const bool has_levels = run.algorithm == "two-level";
  if (!is_virtual && !has_levels) {
    plan.sent_bytes = train::sent_bytes(plan.gradient_bytes, plan.ranks);
  }
  if (!is_virtual) {
    plan.projections = project_scaling(plan.forecast, run.arithmetic.global_batch, plan.ranks,
                                       plan.hosts, has_levels);
  }
  return plan;
}

Json plan_to_json(const Plan& plan, const PlannedRun& run) {
  const train::StepCost step = plan.forecast.step();
  Json projections = Json::array();
  for (const ScalingProjection& each : plan.projections) {
    projections.push_back({{"ranks", each.ranks},
                           {"images_per_second_doubling", each.doubling},
                           {"images_per_second_ring", each.ring}});
  }
  return {{"plan", run.config.model},
          {"ranks", plan.ranks},
          {"hosts", plan.hosts},
          {"global_batch", run.arithmetic.global_batch},
          {"learning_rate", run.arithmetic.learning_rate},
          {"steps_per_epoch", run.arithmetic.steps_per_epoch},
          {"total_steps", run.arithmetic.total_steps},
          {"gradient_bytes", plan.gradient_bytes},
          {"sent_bytes_per_rank", plan.sent_bytes ? Json(*plan.sent_bytes) : Json(nullptr)},
          {"memory_bytes_per_rank", plan.memory_bytes},
          {"algorithm", run.algorithm},
          {"buckets", plan.forecast.buckets.size()},
          {"sum",
           {{"latency_seconds", plan.forecast.sum.latency},
            {"seconds_per_byte", plan.forecast.sum.seconds_per_byte}}},
          {"overlap", plan.forecast.overlap},
          {"seconds",
           {{"data", step.data},
            {"forward", step.forward},
            {"backward", step.backward},
            {"exchange", step.exchange},
            {"update", step.update},
            {"agreement", plan.forecast.agreement},
            {"step", plan.forecast.seconds()}}},
          {"predicted_images_per_second", plan.images_per_second},
          {"predicted_seconds", plan.seconds},
          {"carried", projections}};
}

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); }
std::string count_text_of(double count) { return format_count(static_cast<std::int64_t>(count)); }
std::string milliseconds(double seconds) { return format_fixed(1e3 * seconds, 2); }

std::string describe_projections(const Plan& plan) {
  if (plan.projections.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"ranks", "images/s", "with a ring"}};
  for (const ScalingProjection& each : plan.projections) {
    rows.push_back(
        {count_text_of(each.ranks), count_text_of(each.doubling), count_text_of(each.ring)});
  }
  return "\n\nthe model on more ranks, each with as many images, over links like those " +
         std::string(plan.hosts == 1 ? "within this host" : "between these hosts") +
         " (docs/scaling.md):\n" + format_table(rows);
}

std::string plan_to_text(const Plan& plan, const PlannedRun& run) {
  const train::StepCost step = plan.forecast.step();
  const auto row = [](const std::string& name, double seconds) {
    return std::vector<std::string>{name, milliseconds(seconds)};
  };
  return "plan: " + format_quantity(plan.ranks, "rank") + " on " +
         format_quantity(plan.hosts, "host") + "\n" +
         run.arithmetic.describe(run.config, plan.ranks) + "; " +
         format_quantity(static_cast<std::int64_t>(run.arithmetic.total_steps), "step") + "\n" +
         bytes_text(plan.gradient_bytes) + " of gradients a step" +
         (plan.sent_bytes ? ", of which each rank sends " + bytes_text(*plan.sent_bytes) : "") +
         "; " + run.exchange + "\nmemory per rank: " + bytes_text(plan.memory_bytes) +
         " at most so far, images that a host shares included\n\n" +
         format_table({{"part of a step", "ms"},
                       row("data", step.data),
                       row("forward", step.forward),
                       row("backward", step.backward),
                       row("exchange", step.exchange),
                       row("update", step.update)}) +
         "\n\npredicted: " + milliseconds(plan.forecast.seconds()) + " ms a step, " +
         count_text_of(plan.images_per_second) + " images/s, " + format_duration(plan.seconds) +
         " for all steps, without evaluation and checkpoints" + describe_projections(plan);
}

}  // namespace

void print_plan(Job& job, const PlannedRun& run, const train::ForecastContext& context, bool json) {
  const Plan plan = make_plan(job, run, context);
  comm::agree_on_rank_0(job.world, [&] {
    if (json) {
      print_line(plan_to_json(plan, run).dump());
    } else {
      print_line(plan_to_text(plan, run));
    }
  });
}

std::uint64_t images_of_steps(const train::TrainConfig& config,
                              const train::BatchArithmetic& arithmetic, std::uint64_t image_count,
                              std::uint64_t steps) {
  const std::uint64_t per_epoch =
      config.drop_last ? arithmetic.steps_per_epoch * arithmetic.global_batch : image_count;
  const std::uint64_t rest = steps % arithmetic.steps_per_epoch;
  return steps / arithmetic.steps_per_epoch * per_epoch +
         std::min(rest * arithmetic.global_batch, per_epoch);
}

std::vector<ScalingProjection> project_scaling(const train::Forecast& forecast,
                                               std::uint64_t global_batch, int ranks, int hosts,
                                               bool two_levels) {
  std::vector<ScalingProjection> plans;
  const int of = two_levels ? hosts : ranks;
  if (of == 1) return plans;  // nothing is known of links
  for (const int to : kCarriedRanks) {
    if (to <= ranks) continue;
    const double batch = static_cast<double>(global_batch) * to / ranks;
    const auto rate = [&](train::Rounds rounds) {
      train::Forecast projected = forecast;
      const int many = two_levels ? std::max(hosts, to * hosts / ranks) : to;
      projected.sum = train::extrapolate(forecast.sum, of, many, rounds);
      projected.agreement = train::extrapolate({forecast.agreement, 0}, of, many, rounds).latency;
      return batch / projected.seconds();
    };
    plans.push_back({to, rate(train::Rounds::kDoubling), rate(train::Rounds::kRing)});
  }
  return plans;
}

}  // namespace tandem::app
