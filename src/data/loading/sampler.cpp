#include "tandem/data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tandem/core/random.hpp"

namespace tandem::data {

Slice slice_of(std::uint64_t count, std::uint64_t index, std::uint64_t slices) {
  const std::uint64_t each = count / slices;
  const std::uint64_t longer = count % slices;
  return {index * each + std::min(index, longer), each + (index < longer ? 1 : 0)};
}

Slice slice_with(std::uint64_t count, std::uint64_t place, std::uint64_t slices) {
  const std::uint64_t each = count / slices;
  const std::uint64_t longer = count % slices;
  const std::uint64_t in_longer = longer * (each + 1);
  const std::uint64_t index =
      place < in_longer ? place / (each + 1) : longer + (place - in_longer) / each;
  return slice_of(count, index, slices);
}

std::uint64_t TrainingPlan::steps_per_epoch() const {
  const std::uint64_t whole = image_count / global_batch;
  return whole + (!drop_last && image_count % global_batch != 0 ? 1 : 0);
}

std::uint64_t TrainingPlan::micro_batches_of_rank(int world) const {
  return virtual_ranks > 0 ? virtual_ranks / static_cast<std::uint64_t>(world) : accumulate;
}

std::vector<std::uint32_t> TrainingPlan::order_of(std::uint64_t epoch) const {
  return lanes ? lanes->images(seed, epoch, global_batch) : permutation(image_count, seed, epoch);
}

std::uint64_t TrainingPlan::images_in_step(std::uint64_t step) const {
  const std::uint64_t first = step % steps_per_epoch() * global_batch;
  return std::min(global_batch, image_count - first);
}

TrainingSampler::TrainingSampler(TrainingPlan plan, int rank, int world)
    : plan_(std::move(plan)),
      rank_(static_cast<std::uint64_t>(rank)),
      world_(static_cast<std::uint64_t>(world)),
      step_(plan_.first_step),
      ordered_epoch_(~std::uint64_t{0}) {}

std::optional<BatchRequest> TrainingSampler::next() {
  if (step_ >= plan_.steps) return std::nullopt;
  BatchRequest request;
  request.step = step_;
  request.epoch = step_ / plan_.steps_per_epoch();
  request.global_count = plan_.images_in_step(step_);
  if (request.epoch != ordered_epoch_) {
    order_ = plan_.order_of(request.epoch);
    ordered_epoch_ = request.epoch;
  }
  const std::uint64_t first = step_ % plan_.steps_per_epoch() * plan_.global_batch;
  const std::uint64_t micro_batches = plan_.micro_batches_of_rank(static_cast<int>(world_));
  Slice slice;
  if (plan_.virtual_ranks > 0) {
    slice =
        slice_of(request.global_count, rank_ * micro_batches + micro_batch_, plan_.virtual_ranks);
  } else {
    const Slice mine = slice_of(request.global_count, rank_, world_);
    slice = slice_of(mine.count, micro_batch_, micro_batches);
    slice.first += mine.first;
  }
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first + slice.first);
  request.images.assign(begin, begin + static_cast<std::ptrdiff_t>(slice.count));
  if (plan_.mixes) request.mix_runs = mix_runs_of(first, slice);
  if (++micro_batch_ == micro_batches) {
    micro_batch_ = 0;
    ++step_;
  }
  return request;
}

// `slice`: of the global batch that begins at `first_of_batch` in the epoch's order.
std::vector<MixRun> TrainingSampler::mix_runs_of(std::uint64_t first_of_batch,
                                                 const Slice& slice) const {
  const std::uint64_t images = plan_.images_in_step(step_);
  const std::uint64_t groups = std::max<std::uint64_t>(1, images / kImagesOfMixGroup);
  std::vector<MixRun> runs;
  for (std::uint64_t at = slice.first; at < slice.first + slice.count; at += runs.back().count) {
    const Slice group = slice_with(images, at, groups);
    const std::uint64_t end = std::min(group.first + group.count, slice.first + slice.count);
    const std::uint64_t before = (at == group.first ? at + group.count : at) - 1;
    runs.push_back(
        {end - at, order_[first_of_batch + group.first], order_[first_of_batch + before]});
  }
  return runs;
}

std::uint64_t EvaluationSampler::batch_count(std::uint64_t image_count, std::uint64_t batch_size) {
  return (image_count + batch_size - 1) / batch_size;
}

EvaluationSampler::EvaluationSampler(std::uint32_t image_count, int rank, int world,
                                     std::uint64_t batch_size)
    : image_count_(image_count),
      world_(static_cast<std::uint64_t>(world)),
      batch_size_(batch_size),
      batch_(static_cast<std::uint64_t>(rank)) {}

std::optional<BatchRequest> EvaluationSampler::next() {
  if (batch_ >= batch_count(image_count_, batch_size_)) return std::nullopt;
  BatchRequest request;
  request.step = batch_;
  request.global_count = std::min(batch_size_, image_count_ - batch_ * batch_size_);
  request.images.resize(request.global_count);
  std::iota(request.images.begin(), request.images.end(),
            static_cast<std::uint32_t>(batch_ * batch_size_));
  batch_ += world_;
  return request;
}

}  // namespace tandem::data
