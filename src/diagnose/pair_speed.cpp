#include "pair_speed.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "tandem/core/clock.hpp"

namespace tandem::app {
namespace {

constexpr int kMaxRounds = 63;
constexpr std::size_t kMinBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
constexpr double kLongEnough = 0.1;  // seconds of one exchange
constexpr int kAttempts = 5;         // for each size, the best counts

// Seconds of one exchange, the slower of both.
double time_exchange(comm::Communicator& comm, int partner, Span<const std::uint8_t> mine,
                     Span<std::uint8_t> theirs) {
  const auto start = std::chrono::steady_clock::now();
  comm.sendrecv(partner, mine, theirs);
  const double here = seconds_since(start);
  double there = 0;
  comm.sendrecv(partner, Span<const double>(&here, 1), Span<double>(&there, 1));
  return std::max(here, there);
}

// Bytes per second. If more ranks than processors poll, a short exchange measures the wait for a
// processor. So the size grows until even the fastest exchange is a long one.
double measure_pair(comm::Communicator& comm, int partner, const std::vector<std::uint8_t>& mine,
                    std::vector<std::uint8_t>& theirs) {
  const auto fastest_of = [&](std::size_t bytes) {
    const auto out = Span<const std::uint8_t>(mine).subspan(0, bytes);
    const auto in = Span<std::uint8_t>(theirs).subspan(0, bytes);
    double best = time_exchange(comm, partner, out, in);
    for (int i = 1; i < kAttempts; ++i) {
      best = std::min(best, time_exchange(comm, partner, out, in));
    }
    return best;
  };
  fastest_of(1);  // connects them
  std::size_t bytes = kMinBytes;
  double best = fastest_of(bytes);
  while (best < kLongEnough && bytes < kMaxBytes) {
    bytes *= 4;
    best = fastest_of(bytes);
  }
  return static_cast<double>(bytes) / best;
}

}  // namespace

int rounds_of(int size) { return size + size % 2 - 1; }

int partner_of(int place, int size, int round) {
  // The last place of an even number stays where it is, the others move around a circle.
  const int circle = rounds_of(size);
  const int last = circle;
  int partner = 0;
  if (place == last) {
    // The one who would meet itself.
    partner = round % 2 == 0 ? round / 2 : (round + circle) / 2;
  } else {
    partner = (round - place + 2 * circle) % circle;
    if (partner == place) partner = last;
  }
  return partner < size ? partner : -1;
}

std::vector<PairSpeed> measure_pairs(comm::Communicator& comm, const std::vector<int>& ranks,
                                     comm::Progress& progress, std::uint64_t step) {
  std::vector<PairSpeed> speeds;
  const int size = static_cast<int>(ranks.size());
  if (size < 2) return speeds;
  const auto mine = std::find(ranks.begin(), ranks.end(), comm.rank());
  const std::size_t bytes = mine == ranks.end() ? 0 : kMaxBytes;
  const std::vector<std::uint8_t> out(bytes, 1);
  std::vector<std::uint8_t> in(bytes, 0);
  for (int round = 0; round < std::min(rounds_of(size), kMaxRounds); ++round) {
    comm.barrier();
    progress.report(++step, comm::Phase::kUpdate);  // done, for those who rest
    if (mine == ranks.end()) continue;
    const int place = partner_of(static_cast<int>(mine - ranks.begin()), size, round);
    if (place < 0) continue;
    const int partner = ranks[static_cast<std::size_t>(place)];
    progress.report(step, comm::Phase::kExchange);
    const double speed = measure_pair(comm, partner, out, in);
    progress.report(step, comm::Phase::kUpdate);
    if (comm.rank() < partner) speeds.push_back({comm.rank(), partner, speed});
  }
  return speeds;
}

}  // namespace tandem::app
