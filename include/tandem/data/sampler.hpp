// The images of each step, epoch and rank, as pure functions of integers. Holds the order of one
// epoch. One thread per object. Does not throw.
//
// A global batch is a run of consecutive images of the epoch's order, which is a permutation of all
// images or a LaneOrder. So it holds the same images at any number of ranks. Ranks get slices of
// ceil(n/P) or floor(n/P) images, and micro-batches slices of these. With virtual ranks the batch
// is cut into shards, and each rank has the same number of consecutive shards.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/data/lane_order.hpp"

namespace tandem::data {

struct Slice {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Slice `index` of `count` things cut into `slices` runs; the first count mod slices runs are one
// longer.
Slice slice_of(std::uint64_t count, std::uint64_t index, std::uint64_t slices);

// The slice of `count` things cut into `slices` that holds `place`.
Slice slice_with(std::uint64_t count, std::uint64_t place, std::uint64_t slices);

// For mixup and cutmix, a global batch is cut into groups of about this many consecutive images.
// Each image is mixed with the one before it in its group, the first with the last.
constexpr std::uint64_t kImagesOfMixGroup = 8;

// Consecutive images of a request that belong to one group.
struct MixRun {
  std::uint64_t count = 0;   // images
  std::uint32_t group = 0;   // the first image of the group, which names it in its epoch
  std::uint32_t before = 0;  // the image that is mixed into the first one of these
};

// The content of one batch.
struct BatchRequest {
  std::uint64_t step = 0;          // 0 is the first of the run; in evaluation the batch's number
  std::uint64_t epoch = 0;         // 0 is the first; keys the augmentation
  std::uint64_t global_count = 0;  // images of the global batch, over all ranks and micro-batches
  std::vector<std::uint32_t> images;  // this rank's; may be empty
  std::vector<MixRun> mix_runs = {};  // if the plan mixes: all of `images`, in their order
};

// Returns the next request; absent after the last one.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::optional<BatchRequest> next() = 0;
};

struct TrainingPlan {
  std::uint32_t image_count = 0;
  std::uint64_t global_batch = 0;   // images per optimizer step, over all ranks and micro-batches
  std::uint64_t accumulate = 1;     // micro-batches per rank and step
  std::uint64_t virtual_ranks = 0;  // shards of a global batch, whatever the ranks; 0: none
  bool drop_last = false;           // leave out the short last batch of an epoch
  bool mixes = false;               // images are mixed in pairs
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;                           // of the whole run
  std::uint64_t first_step = 0;                      // where a resumed run goes on
  std::shared_ptr<const LaneOrder> lanes = nullptr;  // of the same images; null: one permutation

  std::uint64_t steps_per_epoch() const;
  // Requests per step and rank in a job of `world` ranks: micro-batches, or shards.
  std::uint64_t micro_batches_of_rank(int world) const;
  // All images, in the order in which the epoch uses them.
  std::vector<std::uint32_t> order_of(std::uint64_t epoch) const;
  // Images in the global batch of `step`.
  std::uint64_t images_in_step(std::uint64_t step) const;
};

// Gives plan.micro_batches_of_rank(world) requests per step.
class TrainingSampler final : public Sampler {
 public:
  // rank in [0, world)
  TrainingSampler(TrainingPlan plan, int rank, int world);
  std::optional<BatchRequest> next() override;

 private:
  std::vector<MixRun> mix_runs_of(std::uint64_t first_of_batch, const Slice& slice) const;

  TrainingPlan plan_;
  std::uint64_t rank_;
  std::uint64_t world_;
  std::uint64_t step_;
  std::uint64_t micro_batch_ = 0;
  std::uint64_t ordered_epoch_;
  std::vector<std::uint32_t> order_;
};

// Batches of `batch_size` consecutive images, dealt to ranks in turn, so that a batch is the same
// at any number of ranks.
class EvaluationSampler final : public Sampler {
 public:
  static constexpr std::uint64_t kBatch = 500;  // the default size
  static std::uint64_t batch_count(std::uint64_t image_count, std::uint64_t batch_size = kBatch);

  EvaluationSampler(std::uint32_t image_count, int rank, int world,
                    std::uint64_t batch_size = kBatch);
  std::optional<BatchRequest> next() override;

 private:
  std::uint32_t image_count_;
  std::uint64_t world_;
  std::uint64_t batch_size_;
  std::uint64_t batch_;
};

}  // namespace tandem::data
