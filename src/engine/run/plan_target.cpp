#include "plan_target.hpp"

#include <algorithm>
#include <cmath>

#include "diagnose/transport.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/train/cost_model.hpp"

namespace tandem::app {
namespace {

// The rate is printed as a range of this share to both sides: docs/scaling.md has measurements.
constexpr double kModelSpread = 0.15;
// Bytes of Ethernet's longest packets, its jumbo frames. Loopback's packets have 65,536.
constexpr std::uint32_t kLongestFrame = 9000;

// Rounds of an all-reduce of one number by recursive doubling.
double doublings(int ranks) { return std::ceil(std::log2(ranks)); }

std::string link_text(const comm::Link& link) {
  const double megabits = 8e-6 * link.bytes_per_second;
  std::string text = megabits >= 1000 ? format_real(megabits / 1000) + " Gbit/s"
                                      : format_real(megabits) + " Mbit/s";
  text += ", " + format_real(std::round(1e9 * link.latency) / 1e3) + " us";
  if (link.oversubscription > 1) {
    text += ", oversubscribed " + format_real(link.oversubscription) + ":1";
  }
  return text;
}

std::string traffic_text(const TargetPlan& plan) {
  const auto bytes = [](double count) { return format_bytes(static_cast<std::uint64_t>(count)); };
  const comm::Traffic& traffic = plan.traffic;
  std::string text = bytes(plan.gradient_bytes) + " of gradients a step";
  if (traffic.shared_bytes > 0) text += ", summed in shared memory";
  if (traffic.rounds > 0) {
    text +=
        ", summed by " + traffic.route + " messages, " + format_count(traffic.rounds) + " in a row";
  }
  if (traffic.host_bytes > 0) text += "; a host sends " + bytes(traffic.host_bytes);
  return text;
}

}  // namespace

void require_target(Job& job, const PlannedRun& run, const train::ForecastContext& context) {
  comm::agree(job.world, [&] {
    if (!context.step.arena.device().is_cpu()) {
      throw UsageError("--hosts: predicts ranks on CPUs, and these use a GPU; add --device cpu");
    }
    if (job.node.size() < job.world.size()) {
      throw UsageError("--hosts: predicts from the ranks of one host, and this job has " +
                       format_quantity(job.world.size(), "rank") + " on several; start " +
                       format_quantity(job.node.size(), "rank") + " on one host");
    }
    train::BatchArithmetic::of(run.config, run.image_count, run.target->placement.ranks());
  });
}

TargetPlan plan_target(Job& job, const PlannedRun& run, const train::ForecastContext& context,
                       const train::StepWindows& windows, const train::Forecast& forecast) {
  const double bytes = 4.0 * static_cast<double>(context.step.arena.gradients().size());
  const comm::AllReduceOptions sums{run.config.all_reduce, run.config.bfloat16_gradients};
  TargetPlan plan;
  plan.target = *run.target;
  plan.image_count = run.image_count;
  plan.arithmetic =
      train::BatchArithmetic::of(run.config, run.image_count, plan.target.placement.ranks());
  plan.gradient_bytes = static_cast<double>(run.gradient_bytes);
  plan.traffic = comm::traffic_of(sums, plan.target.placement, bytes);
  LocalTimes times;
  times.ranks = job.world.size();
  times.windows = windows;
  times.forecast = forecast;
  times.can_overlap = comm::is_true_everywhere(job.world, job.world.is_test_thread_safe());
  plan.has_measured_sums = times.ranks > 1;
  if (times.ranks > 1 && plan.traffic.messages > 0) {
    const comm::AllReduceOptions between{comm::AllReduceAlgorithm::kFlat, sums.as_bfloat16};
    comm::MpiCommunicator alone = job.world.split(job.world.rank());
    const comm::AllReduce messages =
        comm::make_all_reduce(job.world, alone, context.step.arena.gradients(), between);
    times.traffic = comm::traffic_of(between, {times.ranks, 1}, bytes);
    times.messages = train::measure_sums({context.world, *messages.collectives, context.step,
                                          context.settings, context.bucket_bytes, context.touch},
                                         forecast.buckets.size() > 1);
    plan.tcp_segment = largest_tcp_segment(static_cast<std::uint64_t>(times.traffic.rank_bytes));
    context.step.arena.zero_gradients();
  }
  return predict_target(plan, times);
}

TargetPlan predict_target(TargetPlan plan, const LocalTimes& times) {
  const int ranks = plan.target.placement.ranks();
  const train::Forecast& forecast = times.forecast;
  double bytes = 0;
  for (const train::BucketCost& bucket : forecast.buckets) bytes += bucket.bytes;
  train::PlannedSum sum =
      train::plan_sum(plan.traffic, plan.target.link, bytes, times.traffic, times.messages);
  if (plan.traffic.shared_bytes > 0) {  // then the sums of these ranks were in shared memory, too
    const double wire = sum.overlap * sum.cost.seconds(bytes);
    sum.cost.latency += forecast.sum.latency;
    sum.cost.seconds_per_byte += forecast.sum.seconds_per_byte;
    if (sum.cost.seconds(bytes) > 0) sum.overlap = wire / sum.cost.seconds(bytes);
  }
  plan.compute = times.windows.compute;
  plan.slowest = times.windows.compute_deviation * train::expected_maximum(ranks);
  train::StepCost step;
  step.backward = std::min(plan.compute, times.windows.parts.backward);
  if (ranks > 1) {
    plan.exchange =
        train::add_exchange(step, forecast.buckets, sum.cost, times.can_overlap ? sum.overlap : 0)
            .whole() -
        step.whole();
  }
  if (times.ranks > 1) {
    plan.agreement = forecast.agreement * doublings(ranks) / doublings(times.ranks);
  }
  plan.agreement += plan.target.link.latency * doublings(plan.target.placement.hosts);
  return plan;
}

Json target_to_json(const TargetPlan& plan, const train::TrainConfig& config) {
  const PlanTarget& target = plan.target;
  Json link(nullptr);
  if (target.placement.hosts > 1) {
    link = {{"bits_per_second", 8 * target.link.bytes_per_second},
            {"latency_seconds", target.link.latency},
            {"oversubscription", target.link.oversubscription}};
  }
  return {{"hosts", target.placement.hosts},
          {"ranks_per_host", target.placement.ranks_per_host},
          {"ranks", target.placement.ranks()},
          {"link", link},
          {"global_batch", plan.arithmetic.global_batch},
          {"learning_rate", plan.arithmetic.learning_rate},
          {"steps_per_epoch", plan.arithmetic.steps_per_epoch},
          {"total_steps", plan.arithmetic.total_steps},
          {"gradient_bytes", plan.gradient_bytes},
          {"route", plan.traffic.route},
          {"rounds", plan.traffic.rounds},
          {"messages_per_rank", plan.traffic.messages},
          {"sent_bytes_per_rank", plan.traffic.rank_bytes},
          {"sent_bytes_per_host", plan.traffic.host_bytes},
          {"has_measured_sums", plan.has_measured_sums},
          {"tcp_segment_bytes", plan.tcp_segment},
          {"seconds",
           {{"compute", plan.compute},
            {"slowest", plan.slowest},
            {"exchange", plan.exchange},
            {"agreement", plan.agreement},
            {"step", plan.step()}}},
          {"predicted_images_per_second", plan.images_per_second()},
          {"predicted_seconds", plan.seconds(config)},
          {"efficiency", plan.efficiency()}};
}

std::string target_to_text(const TargetPlan& plan, const train::TrainConfig& config) {
  const comm::Placement& placement = plan.target.placement;
  const auto row = [](const std::string& name, double seconds) {
    return std::vector<std::string>{name, format_fixed(1e3 * seconds, 2)};
  };
  const std::string ranks = format_quantity(placement.ranks(), "rank");
  const double rate = plan.images_per_second();
  const double seconds = plan.seconds(config);
  std::string text = "plan for " + format_quantity(placement.hosts, "host") + " of " +
                     format_quantity(placement.ranks_per_host, "rank") + ", not started";
  if (placement.hosts > 1) text += "; link " + link_text(plan.target.link);
  text += "\n" + plan.arithmetic.describe(config, placement.ranks()) + "; " +
          format_quantity(plan.arithmetic.total_steps, "step") + "\n" + traffic_text(plan) +
          "\n\n" +
          format_table({{"part of a step", "ms"},
                        row("computing", plan.compute),
                        row("slowest of " + ranks, plan.slowest),
                        row("exchange", plan.exchange),
                        row("agreement", plan.agreement)}) +
          "\n\npredicted: " + format_range({rate * (1 - kModelSpread), rate * (1 + kModelSpread)}) +
          " images/s, " + format_fixed(100 * plan.efficiency(), 0) + " % of the speed of " + ranks +
          " without exchange\n" + format_duration(seconds * (1 - kModelSpread)) + " to " +
          format_duration(seconds * (1 + kModelSpread)) +
          " for all steps, without evaluation and checkpoints";
  if (!plan.has_measured_sums && placement.ranks() > 1) {
    text +=
        "\n1 rank was started, so the processors' time of messages is not in the prediction; start "
        "2 ranks to measure it";
  }
  if (plan.tcp_segment > kLongestFrame && placement.hosts > 1) {
    text += "\nmessages among these ranks went by TCP in segments of " +
            format_count(plan.tcp_segment) +
            " bytes; Ethernet's are shorter and take more processor time; fix: ip link set lo mtu "
            "1500 (as root), and plan again";
  }
  if (plan.arithmetic.global_batch > plan.image_count) {
    text += "\nthe global batch is larger than the " + format_count(plan.image_count) +
            " training images: steps of the run have fewer images; lower --batch-size";
  }
  return text;
}

}  // namespace tandem::app
