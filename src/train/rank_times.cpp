#include "tandem/train/rank_times.hpp"

#include <algorithm>
#include <utility>

namespace tandem::train {
namespace {

constexpr std::size_t kTimes = 7;
constexpr std::size_t kNumbers = kTimes + 1 + metrics::kSystemValues;  // of a rank

}  // namespace

void RankTimes::add(const StepSeconds& seconds) {
  ++steps_;
  seconds_.data += seconds.data;
  seconds_.compute += seconds.compute;
  seconds_.exchange += seconds.exchange;
  seconds_.whole += seconds.whole;
}

void RankTimes::add(const Totals& totals) { totals_.add(totals); }

std::vector<metrics::RankRecord> RankTimes::gather(comm::Communicator& comm,
                                                   const metrics::SystemUsage& system) {
  const RankTimes mine = std::exchange(*this, {});
  const double steps = std::max(1.0, static_cast<double>(mine.steps_));
  const auto images = static_cast<double>(mine.totals_.images);
  const double whole = mine.seconds_.whole;
  std::vector<double> own{images,
                          mine.totals_.mean_loss(),
                          mine.seconds_.data / steps,
                          mine.seconds_.compute / steps,
                          mine.seconds_.exchange / steps,
                          whole / steps,
                          whole > 0 ? images / whole : 0,
                          system.samples};
  own.insert(own.end(), system.values.begin(), system.values.end());
  // Each rank fills its own part of a sum; what is absent there is not a number, and stays so.
  std::vector<double> all(kNumbers * static_cast<std::size_t>(comm.size()));
  std::copy(own.begin(), own.end(),
            all.begin() + static_cast<std::ptrdiff_t>(kNumbers) * comm.rank());
  comm.reduce(Span<double>(all));
  std::vector<metrics::RankRecord> ranks;
  if (comm.rank() != 0) return ranks;
  for (auto at = all.cbegin(); at != all.cend(); at += kNumbers) {
    metrics::RankRecord rank{
        static_cast<std::uint64_t>(at[0]), at[1], at[2], at[3], at[4], at[5], at[6], {}};
    rank.system.samples = at[kTimes];
    std::copy_n(at + kTimes + 1, metrics::kSystemValues, rank.system.values.begin());
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace tandem::train
