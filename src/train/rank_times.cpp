#include "tandem/train/rank_times.hpp"

#include <algorithm>
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

std::vector<metrics::RankRecord> RankTimes::gather(comm::Communicator& comm,
                                                   const metrics::SystemUsage& system) {
  const RankTimes taken = std::exchange(*this, {});
  const double steps = std::max(1.0, static_cast<double>(taken.steps_));
  const double whole = taken.seconds_.whole;
  metrics::RankRecord mine;
  mine.images = static_cast<std::uint64_t>(taken.totals_.images);
  mine.loss = taken.totals_.mean_loss();
  mine.data_seconds = taken.seconds_.data / steps;
  mine.compute_seconds = taken.seconds_.compute / steps;
  mine.exchange_seconds = taken.seconds_.exchange / steps;
  mine.step_seconds = whole / steps;
  mine.images_per_second = whole > 0 ? static_cast<double>(mine.images) / whole : 0;
  mine.system = system;
  return comm.gather(std::vector<metrics::RankRecord>{mine});
}

}  // namespace tandem::train
