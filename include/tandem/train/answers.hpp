// The confusion matrix of an evaluation, and the images with the worst predictions. One thread at a
// time. gather() throws InternalError.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::train {

struct WrongAnswer {
  std::uint64_t image = 0;
  std::int64_t predicted = 0;
  double loss = 0;
};

// The highest loss first, one that is not finite before all others; equal ones by image. So the
// order is that of the images' losses, whichever ranks saw them.
bool is_worse(const WrongAnswer& one, const WrongAnswer& other);

// The worst of the added images.
class WorstAnswers {
 public:
  explicit WorstAnswers(std::size_t most) : most_(most) {}

  bool is_wanted() const { return most_ > 0; }
  void add(const WrongAnswer& answer);
  // Collective. On rank 0 the worst answers of all ranks, worst first; empty on other ranks.
  std::vector<WrongAnswer> gather(comm::Communicator& comm) const;

 private:
  std::size_t most_;
  std::vector<WrongAnswer> worst_;  // worst first
};

}  // namespace tandem::train
