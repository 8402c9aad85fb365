#include "tandem/train/rank_times.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::train {

void RankTimes::add(const StepSeconds& seconds) {
  ++steps_;
  seconds_.data += seconds.data;
  seconds_.compute += seconds.compute;
  seconds_.exchange += seconds.exchange;
  seconds_.whole += seconds.whole;
}

void RankTimes::add(const Totals& totals) { totals_.add(totals); }

std::vector<metrics::RankRecord> RankTimes::gather(comm::Communicator& comm) {
  const RankTimes mine = std::exchange(*this, {});
  const double steps = std::max(1.0, static_cast<double>(mine.steps_));
  const std::array<double, 6> own = {static_cast<double>(mine.totals_.images),
                                     mine.totals_.mean_loss(),
                                     mine.seconds_.data / steps,
                                     mine.seconds_.compute / steps,
                                     mine.seconds_.exchange / steps,
                                     mine.seconds_.whole / steps};
  // Each rank fills its own part of a sum.
  std::vector<double> all(own.size() * static_cast<std::size_t>(comm.size()));
  std::copy(own.begin(), own.end(),
            all.begin() + static_cast<std::ptrdiff_t>(own.size()) * comm.rank());
  comm.all_reduce(Span<double>(all));
  std::vector<metrics::RankRecord> ranks;
  for (std::size_t at = 0; at < all.size(); at += own.size()) {
    ranks.push_back({static_cast<std::uint64_t>(all[at]), all[at + 1], all[at + 2], all[at + 3],
                     all[at + 4], all[at + 5]});
  }
  return ranks;
}

}  // namespace tandem::train
