// Adds the gradients of a fixed number of shards in an order that does not depend on the number of
// ranks (--virtual-ranks). Holds a few arrays of the arena's size; arena, network and communicator
// must outlive it. Make the same calls on every rank. Throws InternalError.
//
// The sum is a binary tree over shard numbers. A rank holds 2^k consecutive shards, a subtree;
// ranks then exchange at distances 1, 2, 4, … (recursive doubling). a + b = b + a exactly, so it is
// the same tree at any number of ranks. Every shard begins with the buffers from before the step,
// and those of shard 0 remain, such as BatchNorm's statistics.
#pragma once

#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/model/network.hpp"
#include "tandem/train/gradient_exchange.hpp"
#include "tandem/train/kept_buffers.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

class ShardReducer final : public GradientExchange {
 public:
  // The communicator's size is a power of two. `shares_buffers`: all ranks get the buffers of
  // shard 0 after each step, for networks whose training reads them.
  ShardReducer(ParameterArena& arena, model::Network& network, comm::Communicator& comm,
               bool shares_buffers);

  void begin_micro_batch(std::uint64_t shard, std::uint64_t shards, bool has_images) override;
  void end_micro_batch() override;
  void finish() override;
  std::string describe() const override { return "gradients summed over shards, in a fixed tree"; }

 private:
  // The sum of 2^level shards.
  struct Subtree {
    int level;
    std::vector<float> sum;
  };
  std::vector<float> take_array();
  bool has_shard_0() const { return comm_.rank() == 0; }

  ParameterArena& arena_;
  model::Network& network_;
  comm::Communicator& comm_;
  const bool shares_buffers_;
  std::uint64_t shard_ = 0;
  std::uint64_t shards_ = 1;
  std::vector<Subtree> waiting_;            // for their siblings
  std::vector<std::vector<float>> unused_;  // arrays to use again
  KeptBuffers before_;                      // the buffers before the step
  KeptBuffers after_shard_0_;
};

}  // namespace tandem::train
