// A sampler's requests, with their picture files in memory. If a view's files are not in memory, a
// thread reads them ahead, block by block. The sampler tells it which pictures of a block will be
// used soon, and it keeps these, as far as its share of the cache goes. A block whose pictures find
// no room is read again. One thread at a time calls next(), which rethrows errors of reading.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tandem/data/images_view.hpp"
#include "tandem/data/sampler.hpp"

namespace tandem::data {

class PictureReader {
 public:
  PictureReader(const ImagesView& view, std::unique_ptr<Sampler> sampler);
  ~PictureReader();

  // Has the files of the request that next() returned last, and reads others when they are asked
  // for. Threads may use it between two calls of next().
  const ImagesView& view() const { return view_; }
  // Absent after the last one.
  std::optional<BatchRequest> next();

  // The most that was kept at a time; 0 if the files are in memory.
  std::uint64_t most_bytes() const;

  // What a share of the cache keeps of blocks that are in use, beside the requests at hand, which
  // have up to `request_bytes` of files. Two of those, and a block, are in memory in any case.
  static std::uint64_t kept_of(std::uint64_t share, std::uint64_t request_bytes);

 private:
  class Ahead;

  const std::unique_ptr<Sampler> sampler_;  // used by the thread, if there is one
  const std::shared_ptr<Ahead> ahead_;      // null if the files are in memory
  ImagesView view_;
};

}  // namespace tandem::data
