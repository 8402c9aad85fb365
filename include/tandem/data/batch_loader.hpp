// Prepares batches ahead of the consumer on a background thread and, if requested, more
// threads. The
// caller's image memory must outlive it. Call next() on one thread at a time; it rethrows the
// background thread's errors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/data/augment.hpp"
#include "tandem/data/images_view.hpp"
#include "tandem/data/picture_reader.hpp"
#include "tandem/data/prefetcher.hpp"
#include "tandem/data/sampler.hpp"

namespace tandem::data {

struct Batch {
  BatchRequest request;
  std::unique_ptr<float[]> images;  // request.images.size() normalized images
  std::vector<std::int64_t> labels;
  // If images are mixed, `labels` has the heavier label of each, and these have the lighter one and
  // its share, at most 1/2. Empty if no images are mixed.
  std::vector<std::int64_t> other_labels;
  std::vector<float> other_shares;
  // For a multi-label set: size() * classes in [0, 1], mixed as the images are. Otherwise empty.
  std::vector<float> targets;
  std::size_t size() const { return labels.size(); }
};

struct AugmentKey {
  AugmentSpec spec;
  std::uint64_t seed = 0;
  Decoding decoding = Decoding::kExact;
};

// Makes the batch of a request, as the loader does. `threads` does not affect the result.
// With mixup or cutmix, the request must have its mix_runs. If the partner of an image is not in
// the request, it makes the partner itself.
Batch make_batch(const ImagesView& view, const Transform& transform, const AugmentKey& augment,
                 BatchRequest request, int threads = 1);

class BatchLoader {
 public:
  static constexpr std::size_t kBatchesAhead = 3;

  BatchLoader(const ImagesView& view, Transform transform, AugmentKey augment,
              std::unique_ptr<Sampler> sampler, int threads = 1);
  // The next batch in the sampler's order; absent after the last one.
  std::optional<Batch> next() { return batches_.next(); }

 private:
  PictureReader reader_;  // used by the background thread only
  const Transform transform_;
  const AugmentKey augment_;
  const int threads_;
  Prefetcher<Batch> batches_;  // last: its thread uses the above
};

}  // namespace tandem::data
