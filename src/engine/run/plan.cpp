#include "plan.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "host_load.hpp"
#include "plan_target.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/median.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/libtorch.hpp"

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
  std::optional<MemoryPlan> memory;  // of ranks on CPUs
  train::StepWindows windows;
  double images_per_second = 0;
  Range rates;
  std::vector<RankLoad> loads;  // on rank 0
};

// The prediction for more ranks, for --json only.
struct ScalingModel {
  train::Forecast forecast;
  std::vector<ScalingProjection> projections;
};

Plan make_plan(Job& job, const PlannedRun& run, const train::ForecastContext& context) {
  Plan plan;
  plan.ranks = job.topology.world;
  plan.hosts = static_cast<int>(
      job.world.all_reduce_value<std::int64_t>(job.topology.local_rank == 0 ? 1 : 0));
  plan.gradient_bytes = static_cast<double>(run.gradient_bytes);
  if (run.config.virtual_ranks == 0 && run.algorithm == "flat") {
    plan.sent_bytes = train::sent_bytes(plan.gradient_bytes, plan.ranks);
  }
  const MemoryMeter memory;
  const HostMeter meter;
  plan.windows =
      train::time_windows(job.world, context.step, context.settings, run.steps, context.touch);
  plan.loads = meter.finish(job, at::get_num_threads());
  if (run.data_memory) plan.memory = memory.finish(job, *run.data_memory, run.state_memory);
  plan.memory_bytes = job.world.all_reduce_value(peak_memory(), comm::Reduction::kMax);
  plan.images_per_second = median_and_range(plan.windows.images_per_second, plan.rates);
  return plan;
}

ScalingModel make_model(const Plan& plan, const PlannedRun& run,
                        const train::ForecastContext& context) {
  ScalingModel model;
  model.forecast = train::make_forecast(context);
  if (context.bucket_bytes) {
    model.projections = project_scaling(model.forecast, run.arithmetic.global_batch, plan.ranks,
                                        plan.hosts, run.algorithm == "two-level");
  }
  return model;
}

// Duration of all steps, with the agreements that the rates leave out.
double seconds_at(double images_per_second, const Plan& plan, const PlannedRun& run) {
  const std::uint64_t steps = run.arithmetic.total_steps;
  const std::uint64_t images = images_of_steps(run.config, run.arithmetic, run.image_count, steps);
  return static_cast<double>(images) / images_per_second +
         static_cast<double>(steps) * plan.windows.agreement;
}

Json seconds_to_json(const train::StepCost& step, double agreement) {
  return {{"data", step.data},
          {"forward", step.forward},
          {"backward", step.backward},
          {"exchange", step.exchange},
          {"update", step.update},
          {"agreement", agreement},
          {"step", step.whole() + agreement}};
}

Json plan_to_json(const Plan& plan, const PlannedRun& run, const ScalingModel& model) {
  Json projections = Json::array();
  for (const ScalingProjection& each : model.projections) {
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
          {"memory", plan.memory ? plan.memory->to_json() : Json(nullptr)},
          {"algorithm", run.algorithm},
          {"seconds", seconds_to_json(plan.windows.parts, plan.windows.agreement)},
          {"predicted_images_per_second", plan.images_per_second},
          {"predicted_images_per_second_low", plan.rates.low},
          {"predicted_images_per_second_high", plan.rates.high},
          {"windows_images_per_second", plan.windows.images_per_second},
          {"predicted_seconds", seconds_at(plan.images_per_second, plan, run)},
          {"other_programs_cores", cores_of_others(plan.loads)},
          {"buckets", model.forecast.buckets.size()},
          {"sum",
           {{"latency_seconds", model.forecast.sum.latency},
            {"seconds_per_byte", model.forecast.sum.seconds_per_byte}}},
          {"overlap", model.forecast.overlap},
          {"model_seconds", seconds_to_json(model.forecast.step(), model.forecast.agreement)},
          {"carried", projections}};
}

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); }

std::string describe_parts(const Plan& plan) {
  const auto row = [](const std::string& name, double seconds) {
    return std::vector<std::string>{name, format_fixed(1e3 * seconds, 2)};
  };
  const train::StepCost& parts = plan.windows.parts;
  std::vector<std::vector<std::string>> rows{{"part of a step", "ms"},
                                             row("data", parts.data),
                                             row("forward", parts.forward),
                                             row("backward", parts.backward)};
  if (plan.ranks > 1) rows.push_back(row("exchange and waiting", parts.exchange));
  rows.push_back(row("update", parts.update));
  if (plan.ranks > 1) rows.push_back(row("agreement", plan.windows.agreement));
  return format_table(rows);
}

std::string plan_to_text(const Plan& plan, const PlannedRun& run) {
  const double batch = 1e3 * static_cast<double>(run.arithmetic.global_batch);
  return "plan: " + format_quantity(plan.ranks, "rank") + " on " +
         format_quantity(plan.hosts, "host") + "\n" +
         run.arithmetic.describe(run.config, plan.ranks) + "; " +
         format_quantity(run.arithmetic.total_steps, "step") + "\n" +
         bytes_text(plan.gradient_bytes) + " of gradients a step" +
         (plan.sent_bytes ? ", of which each rank sends " + bytes_text(*plan.sent_bytes) : "") +
         "; " + run.exchange + "\nmemory per rank: " + bytes_text(plan.memory_bytes) +
         " at most so far, images that a host shares included\n\n" +
         (plan.memory ? plan.memory->to_text() + "\n\n" : "") + describe_parts(plan) +
         "\n\npredicted: " + format_range(plan.rates) + " images/s, " +
         format_range({batch / plan.rates.high, batch / plan.rates.low}) + " ms a step\n" +
         format_duration(seconds_at(plan.rates.high, plan, run)) + " to " +
         format_duration(seconds_at(plan.rates.low, plan, run)) +
         " for all steps, without evaluation and checkpoints" + describe_load(plan.loads);
}

}  // namespace

void print_plan(Job& job, const PlannedRun& run, const train::ForecastContext& context, bool json) {
  if (run.target) require_target(job, run, context);
  const Plan plan = make_plan(job, run, context);
  const ScalingModel model = json || run.target ? make_model(plan, run, context) : ScalingModel();
  std::optional<TargetPlan> target;
  if (run.target) target = plan_target(job, run, context, plan.windows, model.forecast);
  comm::agree_on_rank_0(job.world, [&] {
    if (json) {
      Json object = plan_to_json(plan, run, model);
      if (target) object["target"] = target_to_json(*target, run.config);
      print_line(object.dump());
    } else {
      print_line(plan_to_text(plan, run));
      if (target) print_line("\n" + target_to_text(*target, run.config));
    }
  });
}

double median_and_range(std::vector<double> values, Range& range) {
  const double median = median_of(values);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  range = {std::min(*least, (1 - kRunSpread) * median), std::max(*most, (1 + kRunSpread) * median)};
  return median;
}

std::string format_range(const Range& range) {
  const auto two_digits = [](double value, double (*round)(double)) {
    const double exponent = std::floor(std::log10(value)) - 1;
    const double unit = std::pow(10.0, exponent);
    // A value that two digits hold already stays as it is, in spite of the division's last bit.
    const double nearest = std::round(value / unit);
    const bool is_held = std::abs(value / unit - nearest) < 1e-9 * nearest;
    const double rounded = unit * (is_held ? nearest : round(value / unit));
    return exponent < 0 ? format_fixed(rounded, static_cast<int>(-exponent))
                        : format_count(std::llround(rounded));
  };
  const std::string low = two_digits(range.low, std::floor);
  const std::string high = two_digits(range.high, std::ceil);
  return low == high ? low : low + " to " + high;
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
