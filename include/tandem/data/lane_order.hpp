// The order of the images of a set that is read block by block. A lane is a sequence of blocks.
// Each epoch distributes the blocks to lanes, and every global batch takes an equal share of each
// lane. A rank's slice of the batch lies in some of the lanes, so the rank reads only their blocks.
// Pure functions of integers. Any thread. Does not throw.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/data/images_view.hpp"

namespace tandem::data {

class LaneOrder {
 public:
  // `blocks`: all images of a view, in order. `lanes`: at least 1; with fewer blocks than this,
  // each block has a lane of its own. `window_bytes`: shuffle window of all lanes together; that of
  // a lane has at least the length of a block.
  LaneOrder(std::vector<BlockImages> blocks, std::uint64_t lanes, std::uint64_t window_bytes);

  // Each image once. A global batch is a run of `global_batch` of them. In it the shares of the
  // lanes follow one another. A lane's share is the same in all batches, to within one or two
  // images, so that all lanes end together.
  std::vector<std::uint32_t> images(std::uint64_t seed, std::uint64_t epoch,
                                    std::uint64_t global_batch) const;

  std::uint64_t lanes() const { return lanes_; }
  // The bytes of files that are not used yet, in blocks that are in use: the average over time, for
  // all lanes together.
  std::uint64_t bytes_in_use() const { return bytes_in_use(spread()); }
  // The same with the smallest possible window, which is a block in each lane.
  std::uint64_t least_bytes_in_use() const { return bytes_in_use(kBlockLength); }

 private:
  using Lane = std::vector<std::uint32_t>;  // numbers of blocks, or of images
  std::vector<Lane> deal(std::uint64_t seed, std::uint64_t epoch) const;
  Lane shuffled(const Lane& blocks, std::uint64_t lane, std::uint64_t seed,
                std::uint64_t epoch) const;
  static constexpr std::uint64_t kBlockLength = std::uint64_t{1} << 16;  // in units of keys
  // The range of the keys of a block's images.
  std::uint64_t spread() const;
  std::uint64_t bytes_in_use(std::uint64_t spread) const;

  const std::vector<BlockImages> blocks_;
  const std::uint64_t lanes_;
  const std::uint64_t window_bytes_;
  std::uint64_t bytes_ = 0;
};

}  // namespace tandem::data
