// The images of an evaluation with the highest losses. One thread at a time. gather() throws
// InternalError.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::train {

struct ImageLoss {
  std::uint64_t image = 0;
  std::int64_t predicted = 0;
  double loss = 0;
};

// Orders by loss, highest first and non-finite before all others; equal losses by image number. So
// the order does not depend on which rank evaluated an image.
bool is_worse(const ImageLoss& one, const ImageLoss& other);

// The worst of the added images, at most `most`.
class TopLosses {
 public:
  explicit TopLosses(std::size_t most) : most_(most) {}

  bool is_wanted() const { return most_ > 0; }
  void add(const ImageLoss& image);
  // Collective. On rank 0 the worst images of all ranks, worst first; empty on other ranks.
  std::vector<ImageLoss> gather(comm::Communicator& comm) const;

 private:
  std::size_t most_;
  std::vector<ImageLoss> worst_;  // worst first
};

}  // namespace tandem::train
