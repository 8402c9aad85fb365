#include "tandem/data/batch_loader.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "data/augment/mixing.hpp"
#include "data/parallel.hpp"
#include "image_maker.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {

namespace {

// Makers of images for several threads, one for each thread that makes an image now.
class ImageMakers {
 public:
  ImageMakers(const ImagesView& view, const Transform& transform, const AugmentKey& augment)
      : view_(view), transform_(transform), augment_(augment) {}

  void make(std::uint64_t epoch, std::uint32_t image, float* out) {
    std::unique_ptr<ImageMaker> maker = take();
    maker->make(epoch, image, out);
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(maker));
  }

 private:
  std::unique_ptr<ImageMaker> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return std::make_unique<ImageMaker>(view_, transform_, augment_);
    std::unique_ptr<ImageMaker> maker = std::move(idle_.back());
    idle_.pop_back();
    return maker;
  }

  const ImagesView& view_;
  const Transform& transform_;
  const AugmentKey& augment_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<ImageMaker>> idle_;
};

// Of a multi-label set: the targets of the `index`-th image, mixed with those of a partner.
void mix_targets(Batch& batch, std::size_t index, Span<const std::uint8_t> partner, float own) {
  float* target = batch.targets.data() + index * partner.size();
  for (const std::uint8_t other : partner) {
    *target = *target * own + static_cast<float>(other) * (1 - own);
    ++target;
  }
}

// Labels of the `index`-th image, which is mixed with the image `with`.
void mix_labels(Batch& batch, const ImagesView& view, std::size_t index, std::uint32_t with,
                float own) {
  if (view.is_multi_label()) {
    mix_targets(batch, index, view.targets_of(with), own);
    return;
  }
  const std::int64_t partner = view.labels[with];
  const bool is_heavier = own >= 0.5F;
  batch.other_labels[index] = is_heavier ? partner : batch.labels[index];
  batch.other_shares[index] = is_heavier ? 1 - own : own;
  if (!is_heavier) batch.labels[index] = partner;
}

// Mixes the images of a batch, each with the unmixed one before it in its group. A run is mixed
// from its last image back. So only the partner of its first image needs a copy, because it may be
// the run's last image.
void mix(Batch& batch, ImageMakers& makers, const ImagesView& view, Layout layout,
         const AugmentKey& augment) {
  const std::size_t pixels = view.shape.pixels();
  const std::uint64_t epoch = batch.request.epoch;
  const std::vector<std::uint32_t>& images = batch.request.images;
  std::vector<float> before(pixels);
  if (!view.is_multi_label()) {
    batch.other_labels.resize(images.size());
    batch.other_shares.resize(images.size());
  }
  std::size_t first = 0;
  for (const MixRun& run : batch.request.mix_runs) {
    const Mix how = draw_mix(augment.spec, view.shape, augment.seed, epoch, run.group);
    float* const of_run = batch.images.get() + first * pixels;
    const std::size_t last = run.count - 1;
    if (run.before == images[first + last]) {
      std::copy_n(of_run + last * pixels, pixels, before.data());
    } else {
      makers.make(epoch, run.before, before.data());
    }
    for (std::size_t i = last; i > 0; --i) {
      mix_image(how, view.shape, layout, of_run + (i - 1) * pixels, of_run + i * pixels);
      mix_labels(batch, view, first + i, images[first + i - 1], how.own);
    }
    mix_image(how, view.shape, layout, before.data(), of_run);
    mix_labels(batch, view, first, run.before, how.own);
    first += run.count;
  }
  if (first != images.size()) throw InternalError("the request does not say how to mix its images");
}

}  // namespace

Batch make_batch(const ImagesView& view, const Transform& transform, const AugmentKey& augment,
                 BatchRequest request, int threads) {
  Batch batch;
  batch.request = std::move(request);
  const std::size_t pixels = view.shape.pixels();
  const std::vector<std::uint32_t>& images = batch.request.images;
  batch.images.reset(new float[images.size() * pixels]);  // not zeroed: all is written
  ImageMakers makers(view, transform, augment);
  for_each_index(images.size(), threads, [&](std::size_t i) {
    makers.make(batch.request.epoch, images[i], batch.images.get() + i * pixels);
  });
  for (const std::uint32_t image : images) {
    batch.labels.push_back(view.labels[image]);
    if (!view.is_multi_label()) continue;
    const Span<const std::uint8_t> targets = view.targets_of(image);
    batch.targets.insert(batch.targets.end(), targets.begin(), targets.end());
  }
  if (augment.spec.mixes()) mix(batch, makers, view, transform.layout(), augment);
  return batch;
}

BatchLoader::BatchLoader(const ImagesView& view, Transform transform, AugmentKey augment,
                         std::unique_ptr<Sampler> sampler, int threads)
    : reader_(view, std::move(sampler)),
      transform_(std::move(transform)),
      augment_(augment),
      threads_(threads),
      batches_(
          [this]() -> std::optional<Batch> {
            std::optional<BatchRequest> request = reader_.next();
            if (!request) return std::nullopt;
            return make_batch(reader_.view(), transform_, augment_, std::move(*request), threads_);
          },
          kBatchesAhead, "loader") {}

}  // namespace tandem::data
