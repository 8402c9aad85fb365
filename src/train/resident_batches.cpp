#include <algorithm>
#include <utility>

#include "drawn_augmentation.hpp"
#include "tandem/train/batch_source.hpp"

namespace tandem::train {
namespace {

constexpr std::int64_t kImagesAtOnce = 4096;

}  // namespace

std::size_t ResidentBatches::bytes_of(const data::ImagesView& view) {
  return view.images.size() + view.labels.size() * sizeof(std::int64_t);
}

ResidentBatches::ResidentBatches(const data::ImagesView& view, data::Layout layout,
                                 const PixelMoments& moments, data::AugmentKey augment,
                                 std::unique_ptr<data::Sampler> sampler, torch::Device device)
    : augment_(augment),
      sampler_(std::move(sampler)),
      transform_(view.shape, layout, moments, device) {
  const auto count = static_cast<std::int64_t>(view.labels.size());
  // from_blob wants mutable pointers and the results are only read.
  const torch::Tensor planar = torch::from_blob(
      const_cast<std::uint8_t*>(view.images.data()),
      {count, view.shape.channels, view.shape.height, view.shape.width}, torch::kUInt8);
  // The channels of a pixel side by side, so that what is cut out lies as channels-last filters
  // want it. In pieces, because a host whose ranks each make a whole copy may not have room.
  images_ = torch::empty({count, view.shape.height, view.shape.width, view.shape.channels},
                         torch::TensorOptions(device).dtype(torch::kUInt8));
  for (std::int64_t first = 0; first < count; first += kImagesAtOnce) {
    const std::int64_t images = std::min(kImagesAtOnce, count - first);
    images_.narrow(0, first, images)
        .copy_(planar.narrow(0, first, images).to(device).permute({0, 2, 3, 1}));
  }
  labels_ = torch::from_blob(const_cast<std::uint8_t*>(view.labels.data()), {count}, torch::kUInt8)
                .to(torch::kInt64)
                .to(device);
}

std::optional<TensorBatch> ResidentBatches::next() {
  const torch::NoGradGuard no_grad;
  std::optional<data::BatchRequest> request = sampler_->next();
  if (!request) return std::nullopt;
  const torch::Device device = transform_.device();
  const torch::Tensor drawn =
      draw_table(*request, augment_, static_cast<std::size_t>(labels_.size(0)), device.is_cuda())
          .to(device, /*non_blocking=*/true);
  TensorBatch batch;
  const torch::Tensor which = drawn.select(1, kImage);
  batch.images = transform_.apply(images_, which, drawn);
  batch.labels = labels_.index_select(0, which);
  batch.request = std::move(*request);
  return batch;
}

}  // namespace tandem::train
