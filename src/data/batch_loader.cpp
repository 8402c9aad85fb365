#include "tandem/data/batch_loader.hpp"

#include <string>
#include <utility>

#include "tandem/core/error.hpp"

namespace tandem::data {

Batch make_batch(const ImagesView& view, const Transform& transform, const AugmentKey& augment,
                 BatchRequest request) {
  Batch batch;
  const std::size_t pixels = view.shape.pixels();
  batch.images.reset(new float[request.images.size() * pixels]);  // not zeroed: all is written
  float* out = batch.images.get();
  for (const std::uint32_t image : request.images) {
    if (image >= view.labels.size()) {
      throw InternalError("image " + std::to_string(image) + " was asked for, the data set has " +
                          std::to_string(view.labels.size()));
    }
    transform.apply(view.images.data() + image * pixels,
                    draw_augmentation(augment.spec, augment.seed, request.epoch, image), out);
    batch.labels.push_back(view.labels[image]);
    out += pixels;
  }
  batch.request = std::move(request);
  return batch;
}

BatchLoader::BatchLoader(ImagesView view, Transform transform, AugmentKey augment,
                         std::unique_ptr<Sampler> sampler)
    : view_(view),
      transform_(std::move(transform)),
      augment_(augment),
      sampler_(std::move(sampler)),
      batches_(
          [this]() -> std::optional<Batch> {
            std::optional<BatchRequest> request = sampler_->next();
            if (!request) return std::nullopt;
            return make_batch(view_, transform_, augment_, std::move(*request));
          },
          kBatchesAhead, "loader") {}

}  // namespace tandem::data
