// The order of the images of a set that is read block by block. Each epoch deals the blocks to
// lanes, and every global batch takes an equal share of each lane. So a rank, whose slice of the
// batch lies in some of the lanes, reads the blocks of these. Pure functions of integers. Any
// thread. Does not throw.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::data {

// Consecutive images of a view whose files begin in one block of the packed file.
struct BlockImages {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // at least 1
  std::uint64_t bytes = 0;  // of their files
};

class LaneOrder {
 public:
  // `blocks`: all images of a view, in order. With fewer blocks than `lanes`, which is at least 1,
  // each block has a lane of its own. The images of a block are spread over `window_bytes` of all
  // lanes, and over the block's own length at least.
  LaneOrder(std::vector<BlockImages> blocks, std::uint64_t lanes, std::uint64_t window_bytes);

  // Each image once. A global batch is a run of `global_batch` of them. In it the shares of the
  // lanes follow one another. A lane gives as many images to one batch as to another, within one or
  // two, so that all lanes end together.
  std::vector<std::uint32_t> images(std::uint64_t seed, std::uint64_t epoch,
                                    std::uint64_t global_batch) const;

  std::uint64_t lanes() const { return lanes_; }
  // Files that are still to be used, of blocks of which some have been: of all lanes, on average.
  std::uint64_t bytes_in_use() const;

 private:
  using Lane = std::vector<std::uint32_t>;  // numbers of blocks, or of images
  std::vector<Lane> deal(std::uint64_t seed, std::uint64_t epoch) const;
  Lane shuffled(const Lane& blocks, std::uint64_t lane, std::uint64_t seed,
                std::uint64_t epoch) const;
  // Of the images of a block, in units of keys.
  std::uint64_t spread() const;

  const std::vector<BlockImages> blocks_;
  const std::uint64_t lanes_;
  const std::uint64_t window_bytes_;
  std::uint64_t bytes_ = 0;
};

}  // namespace tandem::data
