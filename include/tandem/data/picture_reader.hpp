// A sampler's requests, with their picture files in memory. If a view's files are not in memory, a
// thread reads them ahead, block by block. It computes by the sampler which pictures of a block are
// needed soon, and keeps these within its share of the cache. If pictures do not fit, it reads
// their block again later. One thread at a time calls next(), which rethrows errors of reading.
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

  // Holds the files of the request that next() returned last, and reads other files on demand.
  // Several threads may use it between two calls of next().
  const ImagesView& view() const { return view_; }
  // Absent after the last request.
  std::optional<BatchRequest> next();

  // The peak of bytes in memory; 0 if the view has the files in memory.
  std::uint64_t most_bytes() const;

  // The bytes of a share of the cache that are left for pictures of blocks in use. The rest is for
  // requests of up to `request_bytes`. Two requests and a block are in memory at any size of a
  // share.
  static std::uint64_t kept_of(std::uint64_t share, std::uint64_t request_bytes);
  // The smallest share that leaves `kept` bytes.
  static std::uint64_t share_for(std::uint64_t kept, std::uint64_t request_bytes);

 private:
  class Ahead;

  const std::unique_ptr<Sampler> sampler_;  // used by the thread, if there is one
  const std::shared_ptr<Ahead> ahead_;      // null if the files are in memory
  ImagesView view_;
};

}  // namespace tandem::data
