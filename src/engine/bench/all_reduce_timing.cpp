#include "all_reduce_timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tandem/core/clock.hpp"
#include "tandem/core/median.hpp"

namespace tandem::app {
namespace {

constexpr double kShortestBlock = 0.002;  // seconds; one sum of few bytes is too short to time
constexpr double kShortest = 1e-9;        // what a clock may not show
constexpr double kMaxSumsPerBlock = 1000;
constexpr double kMinTimedPairs = 5;
constexpr double kMaxTimedPairs = 1000;
constexpr std::size_t kNumbers = 3;
constexpr std::size_t kAboutMaxSum = 50;  // bfloat16 has all whole numbers up to 256

// The values after which number_of() repeats. More ranks have a longer period, so that their sums
// stay small.
std::size_t period_of(int ranks) {
  return std::max(kNumbers, kNumbers * static_cast<std::size_t>(ranks) / kAboutMaxSum);
}

// Small whole numbers. Their sums are exact in any order of additions, also in bfloat16.
float number_of(int rank, std::size_t i, std::size_t period) {
  const std::size_t number = (i + static_cast<std::size_t>(rank)) % period;
  return number < kNumbers ? static_cast<float>(number) : 0;
}

// The values of a task, where `ours` adds them.
Span<float> summed(const AllReduceTask& task) {
  const std::size_t count = task.bytes / sizeof(float);
  return task.place.first == nullptr ? task.buffer.subspan(0, count)
                                     : Span<float>(task.place.first, count);
}

// Afterwards the values are zeros, of which sums stay what they are, however many there are.
std::uint64_t count_wrong(comm::Communicator& world, comm::Collectives& ours,
                          const AllReduceTask& task) {
  const Span<float> sums = summed(task);
  const Span<float> values = task.buffer.subspan(0, sums.size());
  const std::size_t period = period_of(world.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = number_of(world.rank(), i, period);
  if (task.place.put) task.place.put(values.size());
  ours.all_reduce(sums);
  if (task.place.fetch) task.place.fetch(values.size());
  std::vector<float> expected(period);
  for (std::size_t i = 0; i < period; ++i) {
    for (int rank = 0; rank < world.size(); ++rank) expected[i] += number_of(rank, i, period);
  }
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    wrong += values[i] != expected[i % period];
    values[i] = 0;
  }
  if (task.place.put) task.place.put(values.size());
  return world.all_reduce_value(wrong);
}

// Seconds of one of `count` sums, one after the other.
template <typename Sum>
double time_block(comm::Communicator& world, int count, const Sum& sum, const Touch& finish = {}) {
  world.barrier();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) sum();
  call(finish);
  return std::max(seconds_since(begin), kShortest) / count;
}

}  // namespace

std::vector<std::size_t> sizes_between(std::size_t least, std::size_t most) {
  constexpr std::size_t kStep = 4;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = least; bytes < most; bytes *= kStep) sizes.push_back(bytes);
  sizes.push_back(most);
  return sizes;
}

double algorithm_bandwidth(std::size_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

double bus_bandwidth(std::size_t bytes, double seconds, int ranks) {
  return algorithm_bandwidth(bytes, seconds) * 2 * (ranks - 1) / ranks;
}

AllReduceTiming measure_all_reduce(comm::Communicator& world, comm::Collectives& ours,
                                   const AllReduceTask& task) {
  AllReduceTiming timing;
  timing.bytes = task.bytes;
  timing.wrong = count_wrong(world, ours, task);
  const Span<float> sums = summed(task);
  const auto time_ours = [&](int count) {
    return time_block(
        world, count, [&] { ours.all_reduce(sums); }, task.place.finish);
  };
  const auto sum_bare = [&] { world.all_reduce(task.buffer.subspan(0, sums.size())); };
  // Rank 0's clock decides for all; the first sums also connect the ranks.
  sum_bare();
  const double once = std::max(time_ours(1), time_block(world, 1, sum_bare));
  double sums_per_block = std::clamp(std::ceil(kShortestBlock / once), 1.0, kMaxSumsPerBlock);
  double pairs =
      std::clamp(task.seconds / (2 * once * sums_per_block), kMinTimedPairs, kMaxTimedPairs);
  world.broadcast(Span<double>(&sums_per_block, 1));
  world.broadcast(Span<double>(&pairs, 1));
  timing.pairs = static_cast<int>(pairs);
  const int count = static_cast<int>(sums_per_block);

  std::vector<double> mine;
  std::vector<double> bare_ones;
  std::vector<double> ratios;
  for (int pair = 0; pair < timing.pairs; ++pair) {
    call(task.touch);
    double times[2] = {0, 0};  // ours, bare
    for (const int which : {pair % 2, 1 - pair % 2}) {
      times[which] = which == 0 ? time_ours(count) : time_block(world, count, sum_bare);
    }
    mine.push_back(times[0]);
    bare_ones.push_back(times[1]);
    world.all_reduce(Span<double>(times, 2), comm::Reduction::kMax);
    ratios.push_back(times[0] / times[1]);
  }
  const double median = median_of(mine);
  timing.least = world.all_reduce_value(median, comm::Reduction::kMin);
  timing.most = world.all_reduce_value(median, comm::Reduction::kMax);
  timing.mean = world.all_reduce_value(median) / world.size();
  timing.bare = world.all_reduce_value(median_of(bare_ones)) / world.size();
  timing.ratio = median_of(ratios);
  return timing;
}

}  // namespace tandem::app
