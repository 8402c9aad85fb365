#include "tandem/data/lane_order.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "tandem/core/random.hpp"

namespace tandem::data {
namespace {

// Streams of random numbers, distinct from those of whole sets, of packing and of labels.
constexpr std::uint64_t kBlockStream = std::uint64_t{1} << 33;
constexpr std::uint64_t kLaneStream = 0x6c616e65;
constexpr double kMostBlocks = 65535;  // so that products have 64 bits

// The number of images that each lane has given after a total number of images.
class Shares {
 public:
  explicit Shares(const std::vector<std::vector<std::uint32_t>>& lanes) : ends_{0} {
    for (const auto& lane : lanes) ends_.push_back(ends_.back() + lane.size());
  }
  std::vector<std::uint64_t> after(std::uint64_t images) const {
    std::vector<std::uint64_t> given(ends_.size() - 1);
    cut(0, given.size(), images, given);
    return given;
  }

 private:
  // Halves a range of lanes again and again. Each half gets its proportion, rounded to the nearest
  // image, so the count of a lane never decreases. The first half, quarter, … of the lanes gives an
  // even share of every batch, and the slices of 2, 4, … ranks end there.
  void cut(std::size_t first, std::size_t last, std::uint64_t images,
           std::vector<std::uint64_t>& given) const {
    if (last - first == 1) {
      given[first] = images;
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    const std::uint64_t all = ends_[last] - ends_[first];
    const std::uint64_t lower = (2 * (ends_[middle] - ends_[first]) * images + all) / (2 * all);
    cut(first, middle, lower, given);
    cut(middle, last, images - lower, given);
  }

  std::vector<std::uint64_t> ends_;
};

}  // namespace

LaneOrder::LaneOrder(std::vector<BlockImages> blocks, std::uint64_t lanes,
                     std::uint64_t window_bytes)
    : blocks_(std::move(blocks)),
      lanes_(std::min<std::uint64_t>(lanes, blocks_.size())),
      window_bytes_(window_bytes) {
  for (const BlockImages& block : blocks_) bytes_ += block.bytes;
}

std::vector<std::uint32_t> LaneOrder::images(std::uint64_t seed, std::uint64_t epoch,
                                             std::uint64_t global_batch) const {
  std::vector<Lane> lanes = deal(seed, epoch);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i] = shuffled(lanes[i], i, seed, epoch);
    count += lanes[i].size();
  }
  const Shares shares(lanes);
  std::vector<std::uint64_t> given(lanes.size());
  std::vector<std::uint32_t> order;
  order.reserve(count);
  while (order.size() < count) {
    const std::vector<std::uint64_t> next =
        shares.after(std::min<std::uint64_t>(count, order.size() + global_batch));
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const auto begin = lanes[i].begin();
      order.insert(order.end(), begin + static_cast<std::ptrdiff_t>(given[i]),
                   begin + static_cast<std::ptrdiff_t>(next[i]));
    }
    given = next;
  }
  return order;
}

std::uint64_t LaneOrder::bytes_in_use(std::uint64_t spread) const {
  const double block = static_cast<double>(bytes_) / static_cast<double>(blocks_.size());
  const double blocks_of_lane = (static_cast<double>(spread) / kBlockLength + 1) / 2;
  return std::min(bytes_,
                  static_cast<std::uint64_t>(block * blocks_of_lane * static_cast<double>(lanes_)));
}

// Largest block first, each to the lane with the fewest images, so that lanes become equal. A lane
// has its blocks in the order of the permutation.
std::vector<LaneOrder::Lane> LaneOrder::deal(std::uint64_t seed, std::uint64_t epoch) const {
  const auto count = static_cast<std::uint32_t>(blocks_.size());
  const std::vector<std::uint32_t> order = permutation(count, seed, kBlockStream + epoch);
  std::vector<std::uint32_t> places(count);  // in `order`
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    return blocks_[order[a]].count > blocks_[order[b]].count;
  });
  using Load = std::pair<std::uint64_t, std::size_t>;  // images and lane; the lower lane first
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t i = 0; i < lanes_; ++i) loads.emplace(0, i);
  std::vector<std::size_t> lane_of(count);
  for (const std::uint32_t place : places) {
    const auto [images, lane] = loads.top();
    loads.pop();
    loads.emplace(images + blocks_[order[place]].count, lane);
    lane_of[place] = lane;
  }
  std::vector<Lane> lanes(lanes_);
  for (std::uint32_t place = 0; place < count; ++place) {
    lanes[lane_of[place]].push_back(order[place]);
  }
  return lanes;
}

// An image of the b-th block gets a key that is uniform in [b, b + spread). The lane's order is
// that of the keys. Lanes begin their blocks at different times, so that the total of bytes in use
// stays even. Keys are integers, because compilers may round a sum of products differently.
LaneOrder::Lane LaneOrder::shuffled(const Lane& blocks, std::uint64_t lane, std::uint64_t seed,
                                    std::uint64_t epoch) const {
  CounterRandom random{kLaneStream, seed, epoch, lane};
  const std::uint64_t width = spread();
  const std::uint64_t ahead = lane * kBlockLength / lanes_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const BlockImages& block = blocks_[blocks[b]];
    const std::uint64_t begin = b == 0 ? ahead : b * kBlockLength;
    const std::uint64_t length = b * kBlockLength + width - begin;
    for (std::uint32_t i = 0; i < block.count; ++i) {
      keys.emplace_back(begin + ((random.next() >> 32) * length >> 32), block.first + i);
    }
  }
  std::sort(keys.begin(), keys.end());
  Lane images;
  images.reserve(keys.size());
  for (const auto& key : keys) images.push_back(key.second);
  return images;
}

std::uint64_t LaneOrder::spread() const {
  const double blocks = static_cast<double>(window_bytes_) / static_cast<double>(lanes_) /
                        static_cast<double>(bytes_) * static_cast<double>(blocks_.size());
  return static_cast<std::uint64_t>(kBlockLength * std::clamp(blocks, 1.0, kMostBlocks));
}

}  // namespace tandem::data
