// For measurements of training steps: a batch of noise, and statistics over steps and ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/cost_model.hpp"

namespace tandem::train {

// Returns the same batch of noise each time.
class SyntheticBatch final : public BatchSource {
 public:
  // `images`: of this rank; `global_count`: over all ranks.
  SyntheticBatch(std::uint64_t images, std::uint64_t global_count, data::ImageShape shape,
                 bool channels_last, torch::Device device);
  std::optional<TensorBatch> next() override { return batch_; }

 private:
  TensorBatch batch_;
};

// Collective. The median of each phase over these steps, of the rank whose steps take longest; the
// same on every rank. Throws InternalError if there are no steps.
StepCost of_slowest_rank(comm::Communicator& world, const std::vector<StepCost>& steps);

}  // namespace tandem::train
