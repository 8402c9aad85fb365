#include "tandem/train/forecast.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <future>

#include "bucket_timeline.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/progress_thread.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/median.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/step_timing.hpp"

namespace tandem::train {
namespace {

constexpr double kSecondsOfASize = 0.2;
constexpr double kMinSums = 3;
constexpr double kMaxSums = 20;
constexpr int kAgreements = 20;
constexpr std::size_t kMinFloats = 1024;

using Clock = std::chrono::steady_clock;

// The time of the slowest rank, the same on every rank.
template <typename Work>
double time_together(comm::Communicator& world, const Work& work) {
  world.barrier();
  const auto begin = Clock::now();
  work();
  return world.all_reduce_value(seconds_since(begin), comm::Reduction::kMax);
}

StepCost cost_of_steps(const ForecastContext& context, GradientExchange& exchange,
                       const std::function<void()>& before_timed) {
  const StepContext& run = context.step;
  StepSettings settings = context.settings;
  settings.wait = StepSettings::Wait::kAfterEachPhase;
  StepRunner step({run.network, run.arena, exchange, run.backend, run.batches, nullptr,
                   run.class_weights, run.norms, run.positive_weights},
                  settings);
  std::vector<StepCost> costs;
  run.network.train();
  for (std::uint64_t i = 0; i < kForecastSteps; ++i) {
    if (i == kUntimedSteps) before_timed();
    context.world.barrier();
    const StepCost cost = step.run(i, 0);
    if (i >= kUntimedSteps) costs.push_back(cost);
    call(context.touch);
  }
  return of_slowest_rank(context.world, costs);
}

// As the Reducer sums: one bucket in a call, one of several started.
double seconds_of_sum(const ForecastContext& context, std::size_t floats, bool is_started) {
  const auto sum = [&] {
    const Span<float> values = context.step.arena.gradients().subspan(0, floats);
    if (is_started) {
      context.gradients.iall_reduce(values)->wait();
    } else {
      context.gradients.all_reduce(values);
    }
    on_host(context.step.arena.flat_gradients().slice(0, 0, 1));  // waits for the device
  };
  time_together(context.world, sum);
  std::vector<double> seconds{time_together(context.world, sum)};
  const double count = std::clamp(kSecondsOfASize / seconds[0], kMinSums, kMaxSums);
  while (static_cast<double>(seconds.size()) < count) {
    seconds.push_back(time_together(context.world, sum));
    call(context.touch);
  }
  return median_of(std::move(seconds));
}

double processor_seconds_of_this_thread() {
  std::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A sum of all gradients while this thread sleeps: the time that starting it takes, and processor
// time of the thread that lets it advance, are taken from backward.
double measure_overlap(const ForecastContext& context, const AlphaBetaCost& sum) {
  if (context.gradients.has_async_progress()) return 1;
  const bool allows_thread = context.gradients.is_test_thread_safe();
  if (!comm::is_true_everywhere(context.world, allows_thread)) return 0;
  const Span<float> gradients = context.step.arena.gradients();
  const double alone = sum.seconds(static_cast<double>(gradients.size() * sizeof(float)));
  std::unique_ptr<comm::Request> request;
  std::promise<double> done;
  comm::ProgressThread progress([&] {
    try {
      if (!request->test()) return false;
      done.set_value(processor_seconds_of_this_thread());
    } catch (...) {
      done.set_exception(std::current_exception());
    }
    return true;
  });
  context.world.barrier();
  auto lock = progress.hold();
  const auto begin = Clock::now();
  request = context.gradients.iall_reduce(gradients);
  double own = seconds_since(begin);
  progress.begin();
  lock.unlock();
  own += done.get_future().get();
  lock.lock();
  progress.finish();
  request.reset();
  const double overlap = std::clamp(1 - own / alone, 0.0, 1.0);
  return context.world.all_reduce_value(overlap, comm::Reduction::kMin);
}

double measure_agreement(comm::Communicator& world) {
  std::vector<double> seconds;
  for (int i = 0; i < kAgreements; ++i) {
    seconds.push_back(time_together(world, [&] { world.all_reduce_value<std::int64_t>(0); }));
  }
  return median_of(std::move(seconds));
}

// Measures with an exchange of its own, which records when each bucket is complete and makes no
// all-reduce.
void forecast_buckets(const ForecastContext& context, Forecast& forecast) {
  ParameterArena& arena = context.step.arena;
  BucketTimeline times(context.world.rank(), context.world.size());
  Reducer exchange(arena, times, *context.bucket_bytes);
  forecast.compute = cost_of_steps(context, exchange, [&] { times.take(); });
  forecast.compute.exchange = 0;
  arena.zero_gradients();
  forecast.buckets = times.take();
  if (context.world.size() == 1) return;
  // Backward may be another's than this rank's; its buckets are as far along.
  for (BucketCost& bucket : forecast.buckets) {
    context.world.broadcast(Span<double>(&bucket.seconds_before_end, 1));
  }
  const bool are_started = forecast.buckets.size() > 1;
  forecast.sum = measure_sums(context, are_started);
  if (are_started) forecast.overlap = measure_overlap(context, forecast.sum);
  arena.zero_gradients();
}

}  // namespace

// Next to nothing for the latency, and sizes up to that of all gradients, where the buckets are.
AlphaBetaCost measure_sums(const ForecastContext& context, bool has_several_buckets) {
  const std::size_t all = context.step.arena.gradients().size();
  std::vector<MeasuredSum> sums;
  const auto measure = [&](std::size_t floats) {
    sums.push_back({static_cast<double>(floats * sizeof(float)),
                    seconds_of_sum(context, floats, has_several_buckets)});
  };
  if (all > kMinFloats) measure(kMinFloats);
  for (const std::size_t divisor : {16, 4, 1}) {
    if (all / divisor > kMinFloats || divisor == 1) measure(all / divisor);
  }
  return fit_sums(sums);
}

Forecast make_forecast(const ForecastContext& context) {
  Forecast forecast;
  if (context.bucket_bytes) {
    forecast_buckets(context, forecast);
  } else {
    forecast.compute = cost_of_steps(context, context.step.exchange, [] {});
  }
  if (context.world.size() > 1) forecast.agreement = measure_agreement(context.world);
  return forecast;
}

}  // namespace tandem::train
