// The times of this rank's step phases, and those of all ranks. One thread. gather() throws
// InternalError.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/metrics/straggler.hpp"
#include "tandem/train/objective.hpp"
#include "tandem/train/step_cost.hpp"

namespace tandem::train {

class RankTimes {
 public:
  // `seconds`: of the whole step.
  void add(const StepCost& phases, double seconds);
  void add(const Totals& totals);  // of this rank's images
  // Collective. Every rank's mean over the steps since the last call, and `system`, in rank order
  // on rank 0, which alone shows and keeps them; nothing on the others. Begins anew.
  std::vector<metrics::RankRecord> gather(comm::Communicator& comm,
                                          const metrics::SystemUsage& system = {});

 private:
  std::uint64_t steps_ = 0;
  StepCost phases_;
  double seconds_ = 0;
  Totals totals_;
};

}  // namespace tandem::train
