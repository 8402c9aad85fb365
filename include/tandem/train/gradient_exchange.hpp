// What: how the gradients of a step's parts, on all ranks, become one sum in the arena.
// Owns: nothing. Threads: one, the same calls on every rank but for `has_images`.
// Throws: InternalError naming a parameter that got no gradient.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::train {

class GradientExchange {
 public:
  virtual ~GradientExchange() = default;

  // Around the forward and backward pass of each part (micro-batch or shard) of this rank, in their
  // order; a part without images runs neither.
  virtual void begin_micro_batch(std::uint64_t index, std::uint64_t count, bool has_images) = 0;
  virtual void end_micro_batch() = 0;
  // Former names, for programs written with them.
  void begin_part(std::uint64_t index, std::uint64_t count, bool has_images) {
    begin_micro_batch(index, count, has_images);
  }
  void end_part() { end_micro_batch(); }
  // After the last part: every gradient is the sum over all parts of all ranks.
  virtual void finish() = 0;

  // "gradients in 3 buckets"
  virtual std::string describe() const = 0;
};

}  // namespace tandem::train
