#include "tandem/train/rank_times.hpp"

#include <algorithm>
#include <utility>

namespace tandem::train {

void RankTimes::add(const StepCost& phases, double seconds) {
  ++steps_;
  phases_ += phases;
  seconds_ += seconds;
}

void RankTimes::add(const Totals& totals) { totals_.add(totals); }

std::vector<metrics::RankRecord> RankTimes::gather(comm::Communicator& comm,
                                                   const metrics::SystemUsage& system) {
  const RankTimes taken = std::exchange(*this, {});
  const double steps = std::max(1.0, static_cast<double>(taken.steps_));
  metrics::RankRecord mine;
  mine.images = static_cast<std::uint64_t>(taken.totals_.images);
  mine.loss = taken.totals_.mean_loss();
  mine.data_seconds = taken.phases_.data / steps;
  mine.compute_seconds = (taken.phases_.forward + taken.phases_.backward) / steps;
  mine.exchange_seconds = taken.phases_.exchange / steps;
  mine.step_seconds = taken.seconds_ / steps;
  mine.images_per_second =
      taken.seconds_ > 0 ? static_cast<double>(mine.images) / taken.seconds_ : 0;
  mine.system = system;
  return comm.gather(std::vector<metrics::RankRecord>{mine});
}

}  // namespace tandem::train
