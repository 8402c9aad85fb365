#include <algorithm>
#include <utility>

#include "drawn_augmentation.hpp"
#include "tandem/train/batch_source.hpp"

namespace tandem::train {
namespace {

constexpr std::int64_t kImagesAtOnce = 4096;

}  // namespace

std::size_t ResidentImages::bytes_of(const data::ImagesView& view) {
  return view.images.size() + view.labels.size() * sizeof(std::int64_t);
}

ResidentImages::ResidentImages(const data::ImagesView& view, torch::Device device)
    : shape(view.shape) {
  const auto count = static_cast<std::int64_t>(view.labels.size());
  // from_blob wants mutable pointers and the results are only read.
  const torch::Tensor planar =
      torch::from_blob(const_cast<std::uint8_t*>(view.images.data()),
                       {count, shape.channels, shape.height, shape.width}, torch::kUInt8);
  // The channels of a pixel side by side, so that what is cut out lies as channels-last filters
  // want it. In pieces, because a host whose ranks each make a whole copy may not have room.
  images = torch::empty({count, shape.height, shape.width, shape.channels},
                        torch::TensorOptions(device).dtype(torch::kUInt8));
  for (std::int64_t first = 0; first < count; first += kImagesAtOnce) {
    const std::int64_t some = std::min(kImagesAtOnce, count - first);
    images.narrow(0, first, some)
        .copy_(planar.narrow(0, first, some).to(device).permute({0, 2, 3, 1}));
  }
  labels = torch::from_blob(const_cast<std::uint8_t*>(view.labels.data()), {count}, torch::kUInt8)
               .to(torch::kInt64)
               .to(device);
}

ResidentBatches::ResidentBatches(const data::ImagesView& view, data::Layout layout,
                                 const PixelMoments& moments, data::AugmentKey augment,
                                 std::unique_ptr<data::Sampler> sampler, torch::Device device)
    : ResidentBatches(std::make_shared<const ResidentImages>(view, device), layout, moments,
                      augment, std::move(sampler)) {}

ResidentBatches::ResidentBatches(std::shared_ptr<const ResidentImages> set, data::Layout layout,
                                 const PixelMoments& moments, data::AugmentKey augment,
                                 std::unique_ptr<data::Sampler> sampler)
    : set_(std::move(set)),
      augment_(augment),
      sampler_(std::move(sampler)),
      transform_(set_->shape, layout, moments, set_->images.device()) {}

std::optional<TensorBatch> ResidentBatches::next() {
  const torch::NoGradGuard no_grad;
  std::optional<data::BatchRequest> request = sampler_->next();
  if (!request) return std::nullopt;
  const torch::Device device = transform_.device();
  const torch::Tensor drawn =
      draw_table(*request, augment_, static_cast<std::size_t>(set_->labels.size(0)),
                 device.is_cuda())
          .to(device, /*non_blocking=*/true);
  TensorBatch batch;
  const torch::Tensor which = drawn.select(1, kImage);
  batch.images = transform_.apply(set_->images, which, drawn);
  batch.labels = set_->labels.index_select(0, which);
  batch.request = std::move(*request);
  return batch;
}

}  // namespace tandem::train
