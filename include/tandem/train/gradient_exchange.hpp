// How the gradients of all micro-batches and ranks become one sum in the arena. Make the same calls
// on every rank; only `has_images` may differ. Throws InternalError naming a parameter without a
// gradient.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::train {

class GradientExchange {
 public:
  virtual ~GradientExchange() = default;

  // Call them around the forward and backward pass of each micro-batch (or shard) of this rank, in
  // order. A micro-batch without images runs neither pass.
  virtual void begin_micro_batch(std::uint64_t index, std::uint64_t count, bool has_images) = 0;
  virtual void end_micro_batch() = 0;
  // Former names, for programs written with them.
  void begin_part(std::uint64_t index, std::uint64_t count, bool has_images) {
    begin_micro_batch(index, count, has_images);
  }
  void end_part() { end_micro_batch(); }
  // Call it after the last micro-batch. Then every gradient is the sum over all micro-batches of
  // all ranks.
  virtual void finish() = 0;

  // "gradients in 3 buckets"
  virtual std::string describe() const = 0;
};

}  // namespace tandem::train
